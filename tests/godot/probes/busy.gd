extends Node
## Asks an engine that is busy: four questions, and how each of them ends.


func _ready() -> void:
	var mara := SottoCharacter.new()
	var ends := []
	for turn in 4:
		var answer := mara.ask("Who are you?")
		if not answer.done:
			await answer.finished
		ends.append([answer.status, answer.error, answer.text])
	print("PROBE ", JSON.stringify({"ends": ends}))
	mara.free()
	get_tree().quit()
