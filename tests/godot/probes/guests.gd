extends Node
## The tavern: a guest remembers what the player said, and F5 and F9 save and load.

var _report := {}


func _ready() -> void:
	var tavern: Node2D = load("res://tavern.tscn").instantiate()
	add_child(tavern)
	for patron in tavern.patrons:
		patron.rest = INF  # it asks nothing
	await tavern.say("I hid my silver under the old mill.")
	_report["it_answers"] = tavern.chosen.last_error
	var found: SottoAnswer = tavern.memories.query({"text": "silver mill", "namespace": "Brenna Oakhollow"})
	if not found.done:
		await found.finished
	_report["remembered"] = found.data.map(func(entry: Dictionary) -> String: return entry.value)
	await _press(tavern, KEY_F5, "saved")
	await tavern.chosen.ask("Who are you?")
	tavern.chosen.voice.pace = 2.0
	tavern.chosen.ask("How much is stew?")
	await _press(tavern, KEY_F9, "loaded")
	while tavern.chosen.speaking:
		await get_tree().process_frame
	_report["cancelled"] = tavern.chosen.last_error != ""
	await _press(tavern, KEY_F9, "again")
	var counts := Sotto.save_game("user://saves/counts.sotto")
	await counts.finished
	_report["messages"] = JSON.parse_string(counts.text).messages
	print("PROBE ", JSON.stringify(_report))
	get_tree().quit()


func _press(tavern: Node2D, code: Key, name: String) -> void:
	tavern.get_node("Panel").show_notice("")
	var key := InputEventKey.new()
	key.keycode = code
	key.pressed = true
	Input.parse_input_event(key)
	while tavern.get_node("Panel").noticed().is_empty():
		await get_tree().process_frame
	_report[name] = tavern.get_node("Panel").noticed()
