extends Node2D
## A patron: a figure drawn in code, a speech bubble, and a [SottoCharacter] named Voice.

@export var coat := Color.BROWN
@export var hair := Color.SADDLE_BROWN
@export var beard := false
@export var questions: PackedStringArray

const SKIN := Color(0.93, 0.76, 0.62)
const INK := Color(0.13, 0.09, 0.08)

var rest := 0.0 ## Seconds until the next question.
var asked := 0
var speaking := false
var answers := 0 ## Answers that ended without an error.
var last_error := ""

var _blink := 0.0
var _time := randf() * 6.0
var _bubble: PanelContainer
var _label: Label

@onready var voice: SottoCharacter = $Voice


func _enter_tree() -> void:
	add_to_group("patrons")


func _ready() -> void:
	_make_bubble()


## Asks a question, shows the answer as it is spoken, and returns it. An error leaves "...".
func ask(question: String) -> String:
	asked += 1
	var answer := voice.ask(question)
	_label.text = ""
	_bubble.visible = false
	answer.text_added.connect(_on_text_added)
	speaking = true
	await answer.finished
	speaking = false
	last_error = answer.error
	if answer.error.is_empty():
		answers += 1
	else:
		_on_text_added("...")
	return answer.text


## What the bubble shows; empty if there is no bubble.
func said() -> String:
	return _label.text if _bubble.visible else ""


func _on_text_added(text: String) -> void:
	_label.text += text
	_bubble.visible = true


func _make_bubble() -> void:
	var style := StyleBoxFlat.new()
	style.bg_color = Color(0.98, 0.95, 0.87)
	style.set_corner_radius_all(12)
	style.set_content_margin_all(10)
	style.shadow_color = Color(0, 0, 0, 0.35)
	style.shadow_size = 6
	style.border_color = coat.darkened(0.1)
	style.set_border_width_all(2)
	_label = Label.new()
	_label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	_label.custom_minimum_size = Vector2(180, 0)
	_label.add_theme_color_override("font_color", INK)
	_label.add_theme_font_size_override("font_size", 14)
	_bubble = PanelContainer.new()
	_bubble.add_theme_stylebox_override("panel", style)
	_bubble.add_child(_label)
	_bubble.visible = false
	add_child(_bubble)


func _process(delta: float) -> void:
	_time += delta
	_blink = 1.0 if fmod(_time, 3.7) < 0.12 else 0.0
	_bubble.size = Vector2.ZERO
	_bubble.scale = Vector2.ONE / scale
	_bubble.position = Vector2(-_bubble.size.x / 2.0, -118.0 * scale.y - _bubble.size.y) / scale
	queue_redraw()


func _draw() -> void:
	var bob := sin(_time * 1.6) * 1.5
	_draw_body(bob)
	_draw_head(Vector2(0, -62 + bob))
	if _bubble.visible:
		var tip := PackedVector2Array([Vector2(-9, -120), Vector2(9, -120), Vector2(0, -104)])
		draw_colored_polygon(tip, Color(0.98, 0.95, 0.87))


func _draw_body(bob: float) -> void:
	var shoulders := PackedVector2Array(
		[
			Vector2(-30, -34 + bob),
			Vector2(30, -34 + bob),
			Vector2(48, 0),
			Vector2(56, 86),
			Vector2(-56, 86),
			Vector2(-48, 0)
		]
	)
	draw_colored_polygon(shoulders, coat)
	draw_line(Vector2(0, -30 + bob), Vector2(0, 86), coat.darkened(0.35), 3.0)
	for button in 3:
		draw_circle(Vector2(7, -8 + button * 26), 3.0, Color(0.9, 0.75, 0.35))
	draw_rect(Rect2(-13, -44 + bob, 26, 16), SKIN.darkened(0.12))
	var collar := PackedVector2Array(
		[Vector2(-26, -36 + bob), Vector2(26, -36 + bob), Vector2(0, -14 + bob)]
	)
	draw_colored_polygon(collar, coat.lightened(0.25))


func _draw_head(head: Vector2) -> void:
	draw_circle(head + Vector2(0, -7), 35.0, hair)
	draw_circle(head, 30.0, SKIN)
	var fringe := PackedVector2Array()
	for step in 13:
		fringe.append(head + Vector2.from_angle(PI + PI * step / 12.0) * 31.0)
	fringe.append(head + Vector2(18, -14))
	fringe.append(head + Vector2(-6, -10))
	draw_colored_polygon(fringe, hair)
	if beard:
		draw_circle(head + Vector2(0, 18), 19.0, hair)
	for side: float in [-1.0, 1.0]:
		var eye := head + Vector2(11.0 * side, -1)
		draw_circle(eye, 5.0, Color.WHITE)
		draw_circle(eye + Vector2(1, 0.5), 2.7, INK)
		if _blink > 0.0:
			draw_circle(eye, 5.4, SKIN)
		draw_line(eye + Vector2(-6 * side, -9), eye + Vector2(6 * side, -8), hair.darkened(0.3), 2.5)
		draw_circle(head + Vector2(17.0 * side, 9), 5.0, Color(0.9, 0.5, 0.4, 0.35))
	_draw_mouth(head + Vector2(0, 14))


func _draw_mouth(mouth: Vector2) -> void:
	if speaking and _bubble.visible:
		var open := 2.5 + 4.0 * absf(sin(_time * 11.0))
		draw_circle(mouth, open, Color(0.45, 0.13, 0.13))
	else:
		draw_arc(mouth + Vector2(0, -4), 8.0, 0.5, PI - 0.5, 10, Color(0.45, 0.13, 0.13), 2.5)
