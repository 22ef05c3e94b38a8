extends Node
## What scripts do to answers: await, cancel, free the node, ask again on an error. No frame may wait for us.

var _last := 0
var _worst := 0
var _asked_in_frame := 0
var _most_asked_in_frame := 0
var _report := {}


func _ready() -> void:
	await _warm_up()
	_worst = 0
	await _awaits()
	await _several_at_once()
	await _cancels()
	await _frees_the_node()
	await _frees_the_node_in_a_handler()
	await _asks_again_on_errors()
	await _asks_from_another_thread()
	await _speaks_unicode()
	await _changes_at_work()
	_report["worst_ms"] = _worst / 1000.0
	print("PROBE ", JSON.stringify(_report))
	get_tree().quit()


func _process(_delta: float) -> void:
	var now := Time.get_ticks_usec()
	if _last > 0:
		_worst = maxi(_worst, now - _last)
	_last = now
	_most_asked_in_frame = maxi(_most_asked_in_frame, _asked_in_frame)
	_asked_in_frame = 0


func _character(parent: Node = self) -> SottoCharacter:
	var character := SottoCharacter.new()
	character.sheet = "Name: Mara\nRole: ferrywoman\nManner: gruff\nPrices:\n- a ferry ride: 3 copper"
	character.options = {"temperature": 0, "seed": 1}
	character.max_tokens = 48
	parent.add_child(character)
	return character


func _warm_up() -> void:
	var first := _character()
	var answer := first.ask("Who are you?")
	await answer.finished
	_report["model_loads_before_the_first_answer"] = answer.error.is_empty() and answer.text.length() > 5
	first.queue_free()


func _awaits() -> void:
	var mara := _character()
	var parts: PackedStringArray = []
	var answer := mara.ask("How much is a ferry ride?")
	answer.text_added.connect(func(text: String) -> void: parts.append(text))
	var result: Array = await answer.finished
	_report["await_gives_text_and_error"] = result == [answer.text, ""] and "3 copper" in answer.text
	_report["parts_join_to_the_text"] = "".join(parts) == answer.text and not parts.is_empty()
	_report["answer_is_done"] = answer.done and answer.status == 0 and answer.request > 0
	mara.free()


func _several_at_once() -> void:
	var mara := _character()
	var answers: Array[SottoAnswer] = []
	for index in 3:
		answers.append(mara.ask("How much is a ferry ride?"))
	for answer in answers:
		if not answer.done:
			await answer.finished
	var good := answers.filter(func(a: SottoAnswer) -> bool: return "3 copper" in a.text and a.error.is_empty())
	var ids := {}
	for answer in answers:
		ids[answer.request] = true
	_report["three_answers_at_once"] = good.size() == 3 and ids.size() == 3
	mara.free()


func _cancels() -> void:
	var mara := _character()
	mara.pace = 20.0
	var answer := mara.ask("Who are you?")
	await answer.text_added
	answer.cancel()
	await answer.finished
	_report["cancel_ends_with_its_status"] = answer.status == -10 and not answer.error.is_empty()
	answer.cancel()
	var dropped := mara.ask("Who are you?")
	dropped.cancel()
	await dropped.finished
	_report["cancel_before_the_first_word"] = dropped.status == -10
	mara.free()


func _frees_the_node() -> void:
	var mara := _character()
	mara.pace = 20.0
	var answer := mara.ask("Who are you?")
	await answer.text_added
	mara.free()
	await answer.finished
	_report["a_freed_node_ends_its_answers"] = answer.status == -10


func _frees_the_node_in_a_handler() -> void:
	var mara := _character()
	var id := mara.get_instance_id()
	var answer := mara.ask("How much is a ferry ride?")
	answer.text_added.connect(func(_text: String) -> void: mara.queue_free(), CONNECT_ONE_SHOT)
	await answer.finished
	for frame in 2:  # it may end in the frame of its first text; Godot frees the node at the end of the next
		await get_tree().process_frame
	_report["queue_free_in_a_handler"] = not is_instance_id_valid(id)
	var pip := _character()
	var second := pip.ask("How much is a ferry ride?")
	second.text_added.connect(func(_text: String) -> void: pip.free(), CONNECT_ONE_SHOT)
	await second.finished
	_report["free_in_a_handler"] = not is_instance_valid(pip)


func _asks_again_on_errors() -> void:
	var mara := _character()
	mara.model = "res://no such model.gguf"
	var errors: PackedStringArray = []
	_most_asked_in_frame = 0
	for frame in 60:
		var answer := mara.ask("Who are you?")
		answer.finished.connect(_on_error.bind(mara, errors))
		await get_tree().process_frame
	for frame in 30:
		await get_tree().process_frame
	mara.model = "sotto/house"
	for frame in 30:
		await get_tree().process_frame
	_report["errors_name_the_file"] = errors.size() > 60 and "no such model.gguf" in errors[0]
	_report["asked_in_a_frame"] = _most_asked_in_frame
	mara.free()


func _on_error(_text: String, error: String, mara: SottoCharacter, errors: PackedStringArray) -> void:
	_asked_in_frame += 1
	if is_instance_valid(mara) and not error.is_empty() and errors.size() < 400:
		errors.append(error)
		mara.ask("Who are you?").finished.connect(_on_error.bind(mara, errors))


func _asks_from_another_thread() -> void:
	var mara := _character()
	var thread := Thread.new()
	thread.start(func() -> Variant: return mara.ask("Who are you?"))
	while thread.is_alive():
		await get_tree().process_frame
	_report["another_thread_gets_null"] = thread.wait_to_finish() == null
	mara.free()


func _speaks_unicode() -> void:
	var mara := _character()
	mara.sheet = "Name: مارا 🛶\nRole: ferrywoman\nPlace: Überlingen 日本\nManner: gruff"
	var answer := mara.ask("كم؟ 🙂 How much?")
	await answer.finished
	_report["emoji_and_right_to_left"] = answer.error.is_empty() and not "\ufffd" in answer.text
	mara.free()


func _changes_at_work() -> void:
	var mara := _character()
	await mara.ask("How much is a ferry ride?").finished
	mara.sheet = mara.sheet.replace("3 copper", "7 silver")
	mara.forget()
	var answer := mara.ask("How much is a ferry ride?")
	await answer.finished
	_report["a_new_sheet_applies"] = "7 silver" in answer.text
	mara.options = {"response_format": {"type": "json_object"}}
	var json := mara.ask("How much is a ferry ride?")
	await json.finished
	_report["options_reach_the_request"] = JSON.parse_string(json.text) is Dictionary
	mara.options = JSON.parse_string('{"seed": 7, "top_k": 40}')  # numbers of JSON are floats here
	var parsed := mara.ask("How much is a ferry ride?")
	await parsed.finished
	_report["options_of_a_file_reach_the_request"] = parsed.status == 0
	mara.set("max_tokens", "many")
	mara.set("sheet", {})
	_report["other_types_are_refused"] = mara.max_tokens == 48 and "7 silver" in mara.sheet
	mara.max_tokens = -5
	_report["a_negative_limit_is_refused"] = mara.max_tokens == 48
	mara.max_tokens = 1 << 32
	_report["a_limit_beyond_32_bits_is_refused"] = mara.max_tokens == 48
	mara.pace = -1.0
	var refused := mara.ask("Who are you?")
	await refused.finished
	_report["refused_pace"] = refused.error
	mara.free()
