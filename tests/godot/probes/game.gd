extends Node
## Save games and guardrails. STEP: "save", "restore" in another process, "guard" or "refused".

var _report := {}


func _ready() -> void:
	match OS.get_environment("STEP"):
		"save":
			await _save()
		"restore":
			await _restore()
		_:
			await _guard()
	print("PROBE ", JSON.stringify(_report))
	get_tree().quit()


func _character(session_id: String) -> SottoCharacter:
	var character := SottoCharacter.new()
	character.sheet = "Name: Mara\nRole: ferrywoman\nManner: gruff\nPrices:\n- a ferry ride: 3 copper"
	character.options = {"temperature": 0}
	character.session_id = session_id
	add_child(character)
	return character


func _counts(answer: SottoAnswer) -> Array:
	if not answer.done:
		await answer.finished
	if answer.status < 0:
		return [answer.status]
	var counts: Dictionary = JSON.parse_string(answer.text)
	return [counts.sessions, counts.messages]


func _save() -> void:
	var mara := _character("mara")
	await mara.ask("How much is a ferry ride?").finished
	_report["saved"] = await _counts(Sotto.save_game("res://slots/süd/slot1.sotto"))
	await mara.ask("Who are you?").finished
	mara.free()
	_report["a_conversation_outlives_its_node"] = await _counts(Sotto.save_game("res://slots/slot2.sotto"))
	mara = _character("mara")
	mara.pace = 5.0
	var answer := mara.ask("Who are you?")
	await answer.text_added
	_report["missing"] = await _counts(Sotto.restore_game("res://slots/none.sotto"))
	_report["a_folder"] = await _counts(Sotto.save_game("res://slots"))
	_report["it_speaks_on"] = not answer.done
	_report["restored"] = await _counts(Sotto.restore_game("res://slots/süd/slot1.sotto"))
	if not answer.done:
		await answer.finished
	_report["its_answer_was_cancelled"] = answer.status == -10
	mara.pace = 0.0
	await mara.ask("Thank you.").finished
	_report["it_goes_on_from_there"] = await _counts(Sotto.save_game("res://slots/slot1.sotto"))
	mara.forget()
	_report["it_forgets"] = await _counts(Sotto.save_game("res://slots/empty.sotto"))
	var other := _character("")
	await other.ask("Who are you?").finished
	other.free()
	_report["one_without_an_id_ends"] = await _counts(Sotto.save_game("res://slots/empty.sotto"))
	var damaged := FileAccess.get_file_as_bytes("res://slots/slot1.sotto")
	damaged[damaged.size() / 2] ^= 1
	FileAccess.open("res://slots/damaged.sotto", FileAccess.WRITE).store_buffer(damaged)
	_report["damaged"] = await _counts(Sotto.restore_game("res://slots/damaged.sotto"))


func _restore() -> void:
	_report["restored"] = await _counts(Sotto.restore_game("res://slots/slot1.sotto"))
	var mara := _character("mara")
	var answer := mara.ask("How much is a ferry ride?")
	await answer.finished
	_report["it_answers"] = answer.error if "3 copper" in answer.text else answer.text + "?"
	_report["it_goes_on"] = await _counts(Sotto.save_game("res://slots/slot1.sotto"))
	mara.free()
	mara = _character("mara")
	mara.forget()  # before it was asked
	_report["it_forgets"] = await _counts(Sotto.save_game("res://slots/slot1.sotto"))


func _guard() -> void:
	var mara := _character("")
	var insult := mara.ask("You $w4mp r4t!")
	await insult.finished
	_report["blocked"] = [insult.status, insult.text, insult.error]
	var price := mara.ask("How much is a ferry ride?")
	await price.finished
	_report["cut"] = [price.status, price.text]
	var verdict := Sotto.check_input("swamp rat")
	_report["input"] = [verdict.get("allowed"), verdict.get("category")]
	_report["innocent"] = Sotto.check_input("good evening").get("allowed")
	_report["output"] = Sotto.check_output("It costs 3 copper.").get("allowed")
	_report["output_is_not_input"] = Sotto.check_output("swamp rat").get("allowed")
