extends Node
## Stores, and a character that remembers: with embeddings of the model ENCODER.

var _report := {}


func _ready() -> void:
	await _keeps_entries()
	_is_a_resource()
	await _refuses()
	await _embeds()
	await _remembers()
	await _another_thread()
	await _saves_in_order()
	print("PROBE ", JSON.stringify(_report))
	get_tree().quit()


func _store(file: String, model := "") -> SottoStore:
	var store := SottoStore.new()
	store.path = "res://saves/" + file
	store.embedding_model = model
	return store


func _done(answer: SottoAnswer) -> SottoAnswer:
	if not answer.done:
		await answer.finished
	return answer


func _keeps_entries() -> void:
	var store := _store("words süd")
	var entry := {"value": "The bridge has fallen. 夜", "namespace": "odo", "metadata": {"place": "inn"}}
	var answer := await _done(store.insert(entry))
	_report["an_id_is_made"] = answer.status == 0 and answer.data.size() == 1 and answer.data[0].length() > 8
	await _done(store.insert({"id": "b", "value": "A ring was lost.", "importance": 1.0}))
	answer = await _done(store.insert({"id": "b", "value": "A ring was found."}))
	_report["an_entry_is_replaced"] = answer.data == ["b"]
	answer = await _done(store.query({"text": "ring", "limit": 5}))
	var found: Array = answer.data
	_report["words_find_it"] = found.size() == 1 and found[0].value == "A ring was found." and found[0].score > 0
	answer = await _done(store.query({"where": {"place": "inn"}, "namespace": "odo"}))
	_report["filters_find_it"] = answer.data.size() == 1 and answer.data[0].value.ends_with("夜")
	_report["the_json_is_the_text"] = JSON.parse_string(answer.text) == answer.data
	store.close()
	answer = await _done(store.query({"text": "bridge"}))
	_report["a_closed_store_opens_again"] = answer.status == 0 and answer.data.size() == 1
	store = _store("words süd")  # the one before closes first
	answer = await _done(store.remove({"ids": ["b", "none"]}))
	_report["an_entry_is_removed"] = answer.status == 0 and answer.data == [1.0]
	var other := _store("words süd")
	answer = await _done(other.query({}))
	_report["a_store_is_open_once"] = answer.status == -11 and answer.error != ""
	other.path = "res://saves/other"
	answer = await _done(other.query({}))
	_report["a_path_can_change"] = answer.status == 0 and answer.data == []


func _is_a_resource() -> void:
	ResourceSaver.save(_store("of a file", "res://none.gguf"), "res://store.tres")
	var loaded: SottoStore = load("res://store.tres")
	_report["a_store_is_a_resource"] = loaded.path == "res://saves/of a file" and loaded.embedding_model != ""


func _refuses() -> void:
	var answer := await _done(_store("a:b").insert({"value": "x"}))
	_report["a_bad_name"] = answer.status == -1 and "a:b" in answer.error
	answer = await _done(SottoStore.new().query({}))
	_report["no_path"] = answer.status == -1 and answer.error != ""
	answer = await _done(_store("refuses").insert({}))
	_report["an_empty_entry"] = answer.status == -1 and answer.data == []
	answer = await _done(_store("refuses").query({"limit": "many"}))
	_report["a_bad_query"] = answer.status == -1 and "limit" in answer.error
	answer = await _done(_store("refuses", "res://none.gguf").query({"text": "x"}))
	_report["no_embedding_model"] = answer.status == -7 and "none.gguf" in answer.error
	answer = await _done(_store("never").remove({}))
	_report["nothing_to_remove_from"] = answer.status == -7
	var mara := SottoCharacter.new()
	answer = await _done(mara.tell("x"))
	_report["no_memory"] = answer.status == -5 and "memory" in answer.error
	mara.set("memory", Resource.new())
	mara.recalled = 101
	_report["other_resources_are_refused"] = mara.memory == null and mara.recalled == 4
	mara.session_id = "x".repeat(129)
	_report["a_long_session_id_is_refused"] = mara.session_id == ""
	mara.free()


func _embeds() -> void:
	var store := _store("meaning", OS.get_environment("ENCODER"))
	for text in ["The cellar is locked.", "The bridge has fallen.", "A ring was lost."]:
		store.insert({"value": text})
	var answer := await _done(store.query({"text": "The bridge has fallen.", "limit": 3}))
	var first: Dictionary = answer.data[0]
	_report["an_embedding_finds_it"] = answer.data.size() == 3 and first.similarity > 0.999
	var vector := []
	vector.resize(7)
	vector.fill(1.0)
	answer = await _done(store.query({"embedding": vector}))
	_report["an_embedding_of_the_game_is_checked"] = answer.status == -5 and "7" in answer.error


func _character(memory: SottoStore) -> SottoCharacter:
	var character := SottoCharacter.new()
	character.sheet = "Name: Mara\nRole: ferrywoman\nManner: gruff\nVisitor: Ilse\nPrices:\n- a ferry ride: 3 copper"
	character.options = {"temperature": 0}
	character.memory = memory
	add_child(character)
	return character


func _remembers() -> void:
	var store := _store("memories", OS.get_environment("ENCODER"))
	var mara := _character(store)
	var told := mara.tell("The password of the harbour\nis blackbird.")
	mara.overhear("Odo said: The mill burned down.")
	var answer := await _done(mara.ask("What is the password of the harbour?"))
	_report["a_fact_is_answered"] = "blackbird" in answer.text and told.status == 0
	await _done(mara.ask("Thank you. I hid my purse under the willow."))
	var all := await _done(store.query({"namespace": "Mara"}))
	var fact := "The password of the harbour is blackbird."
	var said := "Ilse said: What is the password of the harbour? You said: " + answer.text
	var kinds := {}
	for entry: Dictionary in all.data:
		kinds[entry.value] = [entry.metadata.kind, entry.importance, entry.id]
	_report["a_fact_is_kept"] = kinds.get(fact) == ["fact", 0.8, "Mara/" + fact.sha256_text().left(32)]
	_report["talk_is_heard"] = kinds.get("Odo said: The mill burned down.", [""])[0] == "heard"
	_report["an_exchange_is_kept"] = kinds.get(said) == ["said", 0.3, "Mara/" + said.sha256_text().left(32)]
	_report["four_memories"] = all.data.size() == 4
	mara.tell(fact)
	all = await _done(store.query({"namespace": "Mara"}))
	_report["a_known_fact_is_not_kept_twice"] = all.data.size() == 4
	var both: Array[SottoAnswer] = [mara.ask("What is the password?"), mara.ask("Who are you?")]
	for one in both:
		await _done(one)
	_report["two_answers_at_once"] = "blackbird" in both[0].text and both[1].status == 0
	var gone := mara.ask("Who are you?")
	gone.cancel()
	_report["cancelled_while_it_recalls"] = gone.status == -10
	mara.ask("Who are you?")
	mara.free()  # while it recalls
	var deaf := _character(_store("deaf", "res://none.gguf"))
	answer = await _done(deaf.ask("How much is a ferry ride?"))
	_report["without_its_memories"] = "3 copper" in answer.text
	deaf.free()
	var forgetful := _character(store)
	forgetful.recalled = 0
	answer = await _done(forgetful.ask("What is the password of the harbour?"))
	_report["nothing_is_recalled"] = answer.status == 0 and not "blackbird" in answer.text
	forgetful.free()


func _another_thread() -> void:
	var store := _store("thread")
	var thread := Thread.new()
	thread.start(func() -> Variant: return store.insert({"value": "x"}))
	while thread.is_alive():
		await get_tree().process_frame
	_report["another_thread_gets_null"] = thread.wait_to_finish() == null
	thread = Thread.new()
	thread.start(func() -> SottoStore: return _store("made elsewhere"))
	var made: SottoStore = thread.wait_to_finish()
	_report["a_thread_may_make_stores"] = (await _done(made.insert({"value": "x"}))).status == 0


## The last entries are on their way to the disk when the game quits.
func _saves_in_order() -> void:
	var store := _store("quit")
	for index in 50:
		store.insert({"id": str(index), "value": "entry %d" % index})
	await get_tree().process_frame
	_report["it_quits_at_work"] = not store.insert({"id": "last", "value": "last"}).done
