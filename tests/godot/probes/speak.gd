extends Node
## The main scene of an exported game: one character speaks with the model that MODEL names.


func _ready() -> void:
	var mara := SottoCharacter.new()
	mara.sheet = "Name: Mara\nRole: ferrywoman\nManner: gruff\nPrices:\n- a ferry ride: 3 copper"
	mara.options = {"temperature": 0}
	mara.model = OS.get_environment("MODEL")
	add_child(mara)
	var answer := mara.ask("How much is a ferry ride?")
	if not OS.has_environment("QUIT_AT_ONCE"):
		await answer.finished
	print("PROBE ", JSON.stringify({"text": answer.text, "error": answer.error}))
	get_tree().quit()
