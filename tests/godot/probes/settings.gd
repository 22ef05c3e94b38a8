extends Node
## What the dialog of the project settings lists, and how a question ends with these settings.


func _ready() -> void:
	var listed := {}
	for property in ProjectSettings.get_property_list():
		if property.name.begins_with("sotto/") and property.usage & PROPERTY_USAGE_EDITOR:
			listed[property.name] = property.hint_string
	var mara := SottoCharacter.new()
	add_child(mara)
	var answer := mara.ask("Who are you?")
	await answer.finished
	print("PROBE ", JSON.stringify({"listed": listed, "status": answer.status, "error": answer.error}))
	get_tree().quit()
