extends Node2D
## Four patrons talk at once: each asks its next question a moment after its answer. One that the player talks to
## remembers it, also when the game runs again; F5 saves the conversations, F9 goes back to them.

const PAUSE := 1.5 ## Seconds between an answer and the next question.
const SLOT := "user://saves/tavern.sotto"

var chosen: Node2D ## The patron that the player talks to.
var patrons: Array[Node]
var memories := SottoStore.new()


func _ready() -> void:
	patrons = get_tree().get_nodes_in_group("patrons")
	chosen = patrons[0]
	$Panel.line_entered.connect(say)
	memories.path = "user://saves/memories"
	for patron in patrons:
		patron.voice.session_id = patron.name
		patron.rest = 0.4 * patrons.find(patron)


## Says the player's line to the chosen patron.
func say(text: String) -> void:
	chosen.voice.memory = memories
	await chosen.ask(text)


func _process(delta: float) -> void:
	for patron in patrons:
		patron.rest -= delta
		if patron.rest < 0.0 and not patron.speaking:
			_next_question(patron)


func _next_question(patron: Node2D) -> void:
	var questions: PackedStringArray = patron.questions
	await patron.ask(questions[patron.asked % questions.size()])
	patron.rest = PAUSE


func _unhandled_input(event: InputEvent) -> void:
	var click := event as InputEventMouseButton
	if click != null and click.pressed:
		for patron in patrons:
			if patron.global_position.distance_to(click.position) < 90.0:
				chosen = patron


func _unhandled_key_input(event: InputEvent) -> void:
	var key := event as InputEventKey
	if key.pressed and key.keycode == KEY_F5:
		_report("Saved", Sotto.save_game(SLOT))
	elif key.pressed and key.keycode == KEY_F9:
		_report("Loaded", Sotto.restore_game(SLOT))


func _report(what: String, answer: SottoAnswer) -> void:
	await answer.finished
	$Panel.show_notice(what if answer.error.is_empty() else answer.error)
