extends Node
## Characters in other threads: they may be made, changed and freed there, and not used.

const WORK_MS := 3000

var _report := {}
var _working := true
var _made := 0
var _read_while_it_ran := []


func _ready() -> void:
	await _calls_from_another_thread()
	await _makes_characters_in_threads()
	print("PROBE ", JSON.stringify(_report))
	get_tree().quit()


func _calls_from_another_thread() -> void:
	var mara := SottoCharacter.new()
	mara.pace = 20.0
	add_child(mara)
	var answer := mara.ask("Who are you?")
	await answer.text_added
	var thread := Thread.new()
	thread.start(_call_all.bind(mara, answer))
	while thread.is_alive():
		await get_tree().process_frame
	_report["ask_returns_null"] = thread.wait_to_finish() == null
	_report["a_setter_is_refused"] = mara.pace == 20.0
	await answer.finished
	_report["cancel_is_refused"] = answer.status == 0
	_report["a_running_answer_is_not_read"] = _read_while_it_ran.all(func(read: Variant) -> bool: return not read)
	thread = Thread.new()
	thread.start(func() -> String: return answer.text)
	_report["a_finished_answer_is_read"] = thread.wait_to_finish() == answer.text and answer.text != ""
	mara.free()


func _call_all(mara: SottoCharacter, answer: SottoAnswer) -> Variant:
	mara.pace = 1.0
	mara.forget()
	answer.cancel()
	_read_while_it_ran = [answer.text, answer.get("text")]
	return mara.ask("Who are you?")


## The main thread ends and drops answers while others make, change and free characters.
func _makes_characters_in_threads() -> void:
	var tasks: Array[int] = []
	for worker in 2:
		tasks.append(WorkerThreadPool.add_task(_make_and_free))
	var until := Time.get_ticks_msec() + WORK_MS
	var ended := 0
	while Time.get_ticks_msec() < until:
		var pip := SottoCharacter.new()
		for question in 300:
			var answer := pip.ask("Who are you?")
			answer.cancel()
			ended += 1 if answer.status == -10 else 0
		await get_tree().process_frame
		pip.free()
	_working = false
	for task in tasks:
		WorkerThreadPool.wait_for_task_completion(task)
	_report["characters_live_in_threads"] = _made > 100 and ended > 100


func _make_and_free() -> void:
	while _working:
		var character := SottoCharacter.new()
		character.sheet = "Name: Pip"
		character.model = "sotto/house"
		character.free()
		_made += 1
