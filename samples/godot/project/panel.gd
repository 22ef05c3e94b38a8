extends CanvasLayer
## The line at the bottom: what the player says, and what the engine does.

signal line_entered(text: String)

var _figures: Label
var _notice: Label


func _ready() -> void:
	var row := HBoxContainer.new()
	row.set_anchors_and_offsets_preset(Control.PRESET_BOTTOM_WIDE, Control.PRESET_MODE_MINSIZE, 14)
	row.grow_vertical = Control.GROW_DIRECTION_BEGIN
	row.add_theme_constant_override("separation", 14)
	add_child(row)
	var line := LineEdit.new()
	line.placeholder_text = "Say something to Brenna (click on another patron to talk there)"
	line.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	line.text_submitted.connect(
		func(text: String) -> void:
			line.clear()
			line_entered.emit(text)
	)
	row.add_child(line)
	_figures = Label.new()
	_figures.custom_minimum_size = Vector2(330, 0)
	_figures.add_theme_font_size_override("font_size", 13)
	_figures.add_theme_color_override("font_color", Color(0.95, 0.85, 0.6))
	row.add_child(_figures)
	_notice = Label.new()
	_notice.position = Vector2(14, 10)
	add_child(_notice)
	var timer := Timer.new()
	timer.timeout.connect(_show_figures)
	add_child(timer)
	timer.start(0.5)


## Shows a line for three seconds.
func show_notice(text: String) -> void:
	_notice.text = text
	await get_tree().create_timer(3.0).timeout
	if _notice.text == text:
		_notice.text = ""


## What the notice shows.
func noticed() -> String:
	return _notice.text


func _show_figures() -> void:
	if Performance.has_custom_monitor("sotto/tokens_per_s"):
		_figures.text = (
			"%d FPS   %.0f tokens/s   %.0f MiB   slack %.1f ms"
			% [
				Engine.get_frames_per_second(),
				Performance.get_custom_monitor("sotto/tokens_per_s"),
				Performance.get_custom_monitor("sotto/memory_mib"),
				Performance.get_custom_monitor("sotto/slack_ms"),
			]
		)
