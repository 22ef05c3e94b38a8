extends Node2D
## The tavern behind the patrons: wall, window with rain, fire, shelves and the bar, drawn in code.

const SIZE := Vector2(960, 540)
const WOOD := Color(0.28, 0.18, 0.12)

var _time := 0.0
var _drops: PackedVector2Array


func _ready() -> void:
	seed(7)
	for drop in 26:
		_drops.append(Vector2(randf() * 120.0, randf() * 120.0))
	var front := Node2D.new()
	front.z_index = 5
	front.draw.connect(_draw_bar.bind(front))
	add_child(front)


func _process(delta: float) -> void:
	_time += delta
	queue_redraw()


func _draw() -> void:
	_draw_wall()
	_draw_window(Vector2(430, 58))
	_draw_fire(Vector2(820, 210))
	_draw_shelf(Vector2(70, 96))
	for lamp: float in [260.0, 690.0]:
		draw_line(Vector2(lamp, 0), Vector2(lamp, 34), Color.BLACK, 2.0)
		for ring in 5:
			var alpha := 0.05 + 0.008 * sin(_time * 3.0 + lamp)
			draw_circle(Vector2(lamp, 46), 90.0 - ring * 17.0, Color(1.0, 0.72, 0.3, alpha))
		draw_circle(Vector2(lamp, 44), 9.0, Color(1.0, 0.85, 0.5))


func _draw_wall() -> void:
	var top := Color(0.16, 0.1, 0.1)
	var low := Color(0.36, 0.23, 0.16)
	var corners := PackedVector2Array([Vector2.ZERO, Vector2(960, 0), SIZE, Vector2(0, 540)])
	draw_polygon(corners, PackedColorArray([top, top, low, low]))
	for plank in 13:
		var x := plank * 80.0
		draw_line(Vector2(x, 0), Vector2(x, 460), Color(0, 0, 0, 0.22), 3.0)
	draw_rect(Rect2(0, 0, 960, 18), WOOD.darkened(0.4))
	for beam: float in [0.0, 330.0, 600.0, 938.0]:
		draw_rect(Rect2(beam, 0, 22, 470), WOOD)
		draw_rect(Rect2(beam, 0, 4, 470), WOOD.lightened(0.12))


func _draw_window(at: Vector2) -> void:
	draw_rect(Rect2(at - Vector2(8, 8), Vector2(136, 136)), WOOD.lightened(0.1))
	draw_rect(Rect2(at, Vector2(120, 120)), Color(0.09, 0.13, 0.24))
	draw_circle(at + Vector2(88, 30), 15.0, Color(0.86, 0.88, 0.95, 0.85))
	for drop in _drops:
		var y := fmod(drop.y + _time * 130.0, 112.0)
		var from := at + Vector2(drop.x, y)
		draw_line(from, from + Vector2(-1.5, 8), Color(0.6, 0.7, 0.9, 0.5), 1.0)
	draw_line(at + Vector2(60, 0), at + Vector2(60, 120), WOOD.lightened(0.1), 5.0)
	draw_line(at + Vector2(0, 60), at + Vector2(120, 60), WOOD.lightened(0.1), 5.0)


func _draw_fire(at: Vector2) -> void:
	draw_rect(Rect2(at + Vector2(-86, -110), Vector2(172, 250)), Color(0.34, 0.32, 0.33))
	for row in 6:
		for column in 4:
			var corner := at + Vector2(-84 + column * 43 - 10 * (row % 2), -108 + row * 41)
			draw_rect(Rect2(corner, Vector2(39, 37)), Color(0.42, 0.4, 0.4, 0.5))
	draw_rect(Rect2(at + Vector2(-56, -30), Vector2(112, 170)), Color(0.05, 0.03, 0.03))
	for tongue in 7:
		var x := -42.0 + tongue * 14.0
		var height := 44.0 + 18.0 * sin(_time * 6.0 + tongue * 1.9) + 10.0 * sin(_time * 11.0 + tongue)
		_draw_flame(at + Vector2(x, 120), 15.0, height, Color(0.95, 0.42, 0.12, 0.9))
		_draw_flame(at + Vector2(x, 122), 9.0, height * 0.62, Color(1.0, 0.82, 0.35, 0.95))
	for ring in 4:
		draw_circle(at + Vector2(0, 90), 190.0 - ring * 34.0, Color(1.0, 0.5, 0.15, 0.035))


func _draw_flame(at: Vector2, width: float, height: float, color: Color) -> void:
	draw_circle(at, width, color)
	var tip := at + Vector2(3.0 * sin(_time * 5.0 + at.x), -height)
	draw_colored_polygon(
		PackedVector2Array([at + Vector2(-width, 0), at + Vector2(width, 0), tip]), color
	)


func _draw_shelf(at: Vector2) -> void:
	var glass := [Color(0.3, 0.5, 0.3), Color(0.5, 0.2, 0.2), Color(0.3, 0.35, 0.55), Color(0.6, 0.45, 0.2)]
	for row in 2:
		var y := row * 66.0
		draw_rect(Rect2(at + Vector2(-20, y + 44), Vector2(210, 8)), WOOD.lightened(0.2))
		for bottle in 8:
			var color: Color = glass[(bottle + row * 3) % 4]
			var foot := at + Vector2(-10 + bottle * 25, y + 14)
			draw_rect(Rect2(foot, Vector2(14, 30)), color)
			draw_rect(Rect2(foot + Vector2(5, -12), Vector2(4, 13)), color)
			draw_rect(Rect2(foot + Vector2(2, 4), Vector2(3, 22)), Color(1, 1, 1, 0.18))


func _draw_bar(front: Node2D) -> void:
	front.draw_rect(Rect2(0, 452, 960, 88), WOOD.darkened(0.15))
	front.draw_rect(Rect2(0, 444, 960, 16), Color(0.5, 0.32, 0.18))
	front.draw_rect(Rect2(0, 444, 960, 3), Color(0.66, 0.45, 0.27))
	for panel in 6:
		front.draw_rect(Rect2(16 + panel * 160, 472, 128, 60), Color(0, 0, 0, 0.18))
	for mug: float in [250.0, 486.0, 716.0]:
		front.draw_rect(Rect2(mug, 420, 24, 27), Color(0.62, 0.47, 0.3))
		front.draw_rect(Rect2(mug - 2, 413, 28, 9), Color(0.97, 0.94, 0.86))
		front.draw_arc(Vector2(mug + 27, 434), 8.0, -1.4, 1.4, 8, Color(0.62, 0.47, 0.3), 4.0)
