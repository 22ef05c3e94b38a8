@tool
extends EditorPlugin
## Drives the editor: reloads the extension, or plays and stops the main scene, as the variable DRIVE says.

const EXTENSION := "res://addons/sotto/sotto.gdextension"
const MARK := "res://spoke.txt"
const WARM_UP := 20  # of 50, 100 and 200 reloads, memory grew by 9.3, 10.2 and 10.2 MB without them


func _enter_tree() -> void:
	match OS.get_environment("DRIVE"):
		"reload":
			_reload.call_deferred()
		"play":
			_play.call_deferred()


func _reload() -> void:
	for frame in 30:
		await get_tree().process_frame
	var rounds := int(OS.get_environment("ROUNDS"))
	var character := ClassDB.instantiate("SottoCharacter") as Node
	add_child(character)
	character.set("sheet", "Name: Mara\nRole: ferrywoman")
	character.set("pace", 20.0)
	var memory := ClassDB.instantiate("SottoStore") as Resource
	memory.set("path", "res://saves/reloaded")
	character.set("memory", memory)
	var report := {"reloads": rounds + WARM_UP, "kept": 0, "streams": 0, "worst_ms": 0.0}
	await _reload_in_turn(character, report, WARM_UP)  # until the heap of the process has its size
	report["before"] = await _state()  # no engine runs: nobody has asked since the reload
	await _reload_in_turn(character, report, rounds)
	report["after"] = await _state(report["before"]["threads"])
	_finish(report)


func _reload_in_turn(character: Node, report: Dictionary, rounds: int) -> void:
	for turn in rounds:
		if turn % 4 == 0:
			await _speak(character, report)  # reloads in the middle of an answer
		else:
			character.call("ask", "Who are you?")  # reloads while the model loads
			await get_tree().process_frame
		_reload_once(character, report)


func _reload_once(character: Node, report: Dictionary) -> void:
	var began := Time.get_ticks_usec()
	GDExtensionManager.reload_extension(EXTENSION)
	report["worst_ms"] = maxf(report["worst_ms"], (Time.get_ticks_usec() - began) / 1000.0)
	var memory: Resource = character.get("memory")
	var keeps: bool = memory != null and memory.get("path") == "res://saves/reloaded"
	report["kept"] += 1 if character.get("pace") == 20.0 and keeps else 0


## Asks, and waits until the answer streams or two seconds have passed.
func _speak(character: Node, report: Dictionary) -> void:
	var answer: Object = character.call("ask", "Who are you?")
	var began := Time.get_ticks_msec()
	while answer.get("text").is_empty() and Time.get_ticks_msec() - began < 2000:
		await get_tree().process_frame
	report["streams"] += 0 if answer.get("text").is_empty() else 1


## Resident memory in kB and threads of this process; the fewest of ten looks, as Godot starts some for a moment.
## Looks up to ten times as often until there are `threads`: on a busy machine engines take seconds to end.
func _state(threads := 1 << 40) -> Dictionary:
	var state := {"rss_kb": 1 << 40, "threads": 1 << 40}
	for look in 100:
		if look >= 10 and state["threads"] <= threads:
			break
		var output: Array = []
		OS.execute("grep", ["-hE", "Threads|VmRSS", "/proc/%d/status" % OS.get_process_id()], output)
		var words: PackedStringArray = output[0].replace("\n", "\t").split("\t", false)
		state["rss_kb"] = mini(state["rss_kb"], int(words[1]))
		state["threads"] = mini(state["threads"], int(words[3]))
		for frame in 4:
			await get_tree().process_frame
	return state


func _play() -> void:
	for frame in 30:
		await get_tree().process_frame
	var report := {"spoke": 0, "worst_stop_ms": 0.0, "stuck": 0}
	for turn in int(OS.get_environment("ROUNDS")):
		DirAccess.remove_absolute(ProjectSettings.globalize_path(MARK))
		EditorInterface.play_main_scene()
		var began := Time.get_ticks_msec()
		while not FileAccess.file_exists(MARK) and Time.get_ticks_msec() - began < 10000:
			await get_tree().process_frame
		report["spoke"] += 1 if FileAccess.file_exists(MARK) else 0
		began = Time.get_ticks_usec()
		EditorInterface.stop_playing_scene()
		while EditorInterface.is_playing_scene() and Time.get_ticks_usec() - began < 5000000:
			await get_tree().process_frame
		report["stuck"] += 1 if EditorInterface.is_playing_scene() else 0
		report["worst_stop_ms"] = maxf(report["worst_stop_ms"], (Time.get_ticks_usec() - began) / 1000.0)
		for frame in 20:  # the editor handles the end of the game's debugger, which would stop the next game
			await get_tree().process_frame
	_finish(report)


func _finish(report: Dictionary) -> void:
	print("PROBE ", JSON.stringify(report))
	get_tree().quit()
