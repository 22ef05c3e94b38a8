extends Node
## A main scene for play and stop in the editor: writes a file as soon as a character speaks, and goes on.


func _ready() -> void:
	for index in 4:
		var character := SottoCharacter.new()
		character.sheet = "Name: Mara\nRole: ferrywoman"
		character.pace = 15.0
		add_child(character)
		_talk(character)


func _talk(character: SottoCharacter) -> void:
	while true:
		var answer := character.ask("Who are you?")
		await answer.text_added
		FileAccess.open("res://spoke.txt", FileAccess.WRITE).store_string("spoke")
		await answer.finished
