"""Specifiers and metadata keys that UnrealHeaderTool knows: from Epic's documentation of UE 5.3 to 5.6."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a list in lower case: UnrealHeaderTool ignores case."""
    return frozenset(text.lower().split())


SPECIFIERS = {
    "UCLASS": words("""
        Abstract AdvancedClassDisplay AutoCollapseCategories AutoExpandCategories Blueprintable
        BlueprintType ClassGroup CollapseCategories Config ConfigDoNotCheckDefaults Const ConversionRoot
        CustomConstructor DefaultConfig DefaultToInstanced DependsOn Deprecated
        DontAutoCollapseCategories DontCollapseCategories EarlyAccessPreview EditInlineNew EditorConfig
        Experimental GlobalUserConfig HideCategories HideDropdown HideFunctions Intrinsic MinimalAPI
        NeedsDeferredDependencyLoading NoExport NonTransient NotBlueprintable NotBlueprintType
        NotEditInlineNew NotPlaceable Optional PerObjectConfig PerPlatformConfig Placeable
        PrioritizeCategories ProjectUserConfig ShowCategories ShowFunctions SparseClassDataType
        SparseClassDataTypes Transient Within"""),
    "UINTERFACE": words("""
        Blueprintable BlueprintType ConversionRoot DependsOn MinimalAPI NotBlueprintable
        NotBlueprintType"""),
    "USTRUCT": words(
        "Atomic BlueprintType HasDefaults HasNoOpConstructor Immutable IsAlwaysAccessible NoExport"
    ),
    "UENUM": words("BlueprintType Flags"),
    "UDELEGATE": words("BlueprintAuthorityOnly BlueprintCallable Category"),
    "UFUNCTION": words("""
        BlueprintAuthorityOnly BlueprintCallable BlueprintCosmetic BlueprintGetter
        BlueprintImplementableEvent BlueprintNativeEvent BlueprintPure BlueprintSetter CallInEditor
        Category Client CustomThunk Exec FieldNotify NetMulticast Reliable SealedEvent Server
        ServiceRequest ServiceResponse Unreliable WithValidation"""),
    "UPROPERTY": words("""
        AdvancedDisplay AssetRegistrySearchable BlueprintAssignable BlueprintAuthorityOnly
        BlueprintCallable BlueprintGetter BlueprintReadOnly BlueprintReadWrite BlueprintSetter Category
        Config DuplicateTransient EditAnywhere EditDefaultsOnly EditFixedSize EditInline
        EditInstanceOnly Export FieldNotify Getter GlobalConfig Instanced Interp Localized Native
        NoClear NoExport NonPIEDuplicateTransient NonPIETransient NonTransactional NotReplicated
        Replicated ReplicatedUsing SaveGame SerializeText Setter SimpleDisplay SkipSerialization
        TextExportTransient Transient VisibleAnywhere VisibleDefaultsOnly VisibleInstanceOnly"""),
    "UPARAM": words("DisplayName Ref Required"),
    "UMETA": frozenset(),
}

COMMON = words("""
        Category Comment DeprecatedProperty DeprecationMessage DisplayName DisplayPriority Keywords
        ScriptName ShortTooltip ToolTip""")

METADATA = {
    "UCLASS": words("""
        BlueprintSpawnableComponent BlueprintThreadSafe ChildCannotTick ChildCanTick DebugTreeLeaf
        DeprecatedNode DontUseGenericSpawnObject ExposedAsyncProxy HasDedicatedAsyncNode HideThen
        IgnoreCategoryKeywordsInSubclasses IsBlueprintBase KismetHideOverrides LoadBehavior
        NotInputConfigurable ObsoleteClass PrioritizeCategories ProhibitedInterfaces RestrictedToClasses
        ShowWorldContextPin UsesHierarchy"""),
    "UINTERFACE": words("CannotImplementInterfaceInBlueprint IsBlueprintBase"),
    "USTRUCT": words("""
        BlueprintInternalUseOnly BlueprintInternalUseOnlyHierarchical DisableSplitPin HasNativeBreak
        HasNativeMake HiddenByDefault"""),
    "UENUM": words("Bitflags Experimental UseEnumValuesAsMaskValuesInEditor"),
    "UMETA": words("Hidden Spacer"),
    "UDELEGATE": words("AutoCreateRefTerm DynamicOutputParam"),
    "UFUNCTION": words("""
        AdvancedDisplay ArrayParm ArrayTypeDependentParams AutoCreateRefTerm BlueprintAutocast
        BlueprintInternalUseOnly BlueprintProtected BlueprintThreadSafe CallableWithoutWorldContext
        CommutativeAssociativeBinaryOperator CompactNodeTitle CustomStructureParam DataTablePin
        DefaultToSelf DeprecatedFunction DeterminesOutputType DevelopmentOnly DynamicOutputParam
        ExpandBoolAsExecs ExpandEnumAsExecs ForceAsFunction HidePin HideSelfPin InternalUseParam Latent
        LatentInfo MapKeyParam MapParam MapValueParam MaterialParameterCollectionFunction
        NativeBreakFunc NativeMakeFunc NotBlueprintThreadSafe ReturnDisplayName ScriptConstant
        ScriptMethod ScriptOperator SetParam UnsafeDuringActorConstruction Variadic WorldContext"""),
    "UPROPERTY": words("""
        AllowAbstract AllowedClasses AllowPreserveRatio AllowPrivateAccess AnimNotifyBoneName ArrayClamp
        ArraySizeEnum AssetBundles BindWidget BindWidgetOptional Bitmask BitmaskEnum BlueprintBaseOnly
        BlueprintCompilerGeneratedDefaults Categories ClampMax ClampMin ConfigHierarchyEditable
        ConfigRestartRequired ConsoleVariable ContentDir Delta DisallowedClasses DisplayAfter
        DisplayThumbnail EditCondition EditConditionHides EditFixedOrder EditInline EnumCondition
        ExactClass ExposeFunctionCategories ExposeOnSpawn FilePathFilter FixedIncrement ForceInlineRow
        ForceRebuildProperty ForceShowEngineContent ForceShowPluginContent ForceUnits GetByRef
        GetOptions HideAlphaChannel HideInDetailPanel HideViewOptions IgnoreForMemberInitializationTest
        InlineEditConditionToggle LinearDeltaSensitivity LongPackageName MakeEditWidget
        MakeStructureDefaultValue MetaClass MetaStruct Multiple MultiLine MustImplement NoEditInline
        NoElementDuplicate NoResetToDefault NoSpinbox OnlyPlaceable PasswordField PinHiddenByDefault
        PinShownByDefault ReadOnlyKeys RelativePath RelativeToGameContentDir RequiredAssetDataTags
        RowType ShowInnerProperties ShowOnlyInnerProperties ShowTreeView SliderExponent TitleProperty
        UIMax UIMin Units Untracked ValidEnumValues InvalidEnumValues"""),
    "UPARAM": words("AllowedClasses Categories GetOptions MetaClass"),
}


def known_metadata(macro: str) -> frozenset[str]:
    """The metadata keys of a macro, in lower case."""
    return COMMON | METADATA[macro]
