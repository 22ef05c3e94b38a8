extends Node2D
## Four patrons talk at once: each asks its next question a moment after its answer.

const PAUSE := 1.5 ## Seconds between an answer and the next question.

var chosen: Node2D ## The patron that the player talks to.
var patrons: Array[Node]


func _ready() -> void:
	patrons = get_tree().get_nodes_in_group("patrons")
	chosen = patrons[0]
	$Panel.line_entered.connect(func(text: String) -> void: chosen.ask(text))
	for patron in patrons:
		patron.rest = 0.4 * patrons.find(patron)


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
