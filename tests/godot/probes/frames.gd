extends Node
## Counts frames that came late, with or without characters that talk all the time.

const PERIOD := 1e6 / 60.0  # microseconds

var _last := 0
var _frames := 0
var _late := 0
var _worst := 0
var _chars := 0
var _sheet := "Name: Mara\nRole: ferrywoman\nManner: gruff\nPrices:\n- a ferry ride: 3 copper"
var _answers := 0
var _errors: Array[String] = []


func _ready() -> void:
	var talk := OS.get_environment("TALK") == "1"
	if talk:
		for index in 4:
			var character := SottoCharacter.new()
			character.sheet = _sheet
			character.pace = 15.0
			add_child(character)
			_talk(character)
		await get_tree().create_timer(1.0).timeout  # the model loads
	_last = Time.get_ticks_usec()
	_frames = 0
	_late = 0
	_worst = 0
	await get_tree().create_timer(float(OS.get_environment("SECONDS"))).timeout
	var report := {"frames": _frames, "late": _late, "worst_ms": _worst / 1000.0}
	report.merge({"answers": _answers, "characters": _chars, "errors": _errors})
	if talk:
		for name in ["tokens_per_s", "memory_mib", "slack_ms"]:
			report[name] = Performance.get_custom_monitor("sotto/" + name)
	print("PROBE ", JSON.stringify(report))
	get_tree().quit()


func _talk(character: SottoCharacter) -> void:
	while true:
		var answer := character.ask("How much is a ferry ride?")
		answer.text_added.connect(func(text: String) -> void: _chars += text.length())
		await answer.finished
		if answer.error.is_empty():
			_answers += 1
		else:
			_errors.append(answer.error)


func _process(_delta: float) -> void:
	var now := Time.get_ticks_usec()
	_frames += 1
	_worst = maxi(_worst, now - _last)
	if now - _last > 1.5 * PERIOD:
		_late += 1
	_last = now
