extends Node
## Runs the tavern in a window until every patron has said something, and saves a picture of the window.

const LONGEST_MS := 25000


func _ready() -> void:
	add_child(load("res://tavern.tscn").instantiate())
	var attached := Sotto.attach_gpu() if OS.has_environment("ATTACH") else false
	var report := {"attached": attached, "gpu": Sotto.describe().get("gpu")}
	if OS.has_environment("PICTURE"):
		await _take_picture(report)
	report["driver"] = RenderingServer.get_current_rendering_driver_name()
	print("PROBE ", JSON.stringify(report))
	get_tree().quit()


func _take_picture(report: Dictionary) -> void:
	while not _all_speak() and Time.get_ticks_msec() < LONGEST_MS:
		await get_tree().process_frame
	await RenderingServer.frame_post_draw
	var image := get_viewport().get_texture().get_image()
	image.save_png(OS.get_environment("PICTURE"))
	report["all_speak"] = _all_speak()
	report["colours"] = _colours(image)


func _all_speak() -> bool:
	var patrons := get_tree().get_nodes_in_group("patrons")
	return patrons.all(func(patron: Node) -> bool: return patron.said().length() > 12)


func _colours(image: Image) -> int:
	var found := {}
	for y in range(0, image.get_height(), 2):
		for x in range(0, image.get_width(), 2):
			found[image.get_pixel(x, y).to_rgba32()] = true
	return found.size()
