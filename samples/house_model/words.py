"""Word lists that the corpus draws from."""

# ruff: noqa: SIM905  (a list with a word a line is longer and no clearer)

ONSETS = (
    "B Br C Cr D Dr F Fr G Gr H J K Kr L M N P R S Sk Sh St T Th Tr V W Wr Y Z Bl Gl Fl Sv Qu El Il Or "
    "Al As Er Is Ul Av"
).split()
VOWELS = "a e i o u a e i o ae ei ia y ou".split()
MIDDLES = "l r n m v d th s g b k rr ll nn ld rn st sk mb nd lv rv z t".split()
ENDS = "n r s l th m nd rd ric wen la na ra dor vin mir ius a o e ek ard is us ia ette win bert".split()
GIVEN = (
    "Anna Tom Mira Jonas Greta Hugo Ilse Otto Nell Rufus Agnes Martin Clara Edwin Rosa Felix Hanna "
    "Walter Ada Simon Marta Oskar Elsa Bruno Ruth Conrad Ivy Jasper Maud Silas Tilda Piers Wren Hazel "
    "Rowan Basil Cora Dorian Esther Gareth"
).split()
TITLES = "Old Captain Sister Master Lady Father Young Widow".split()
COMPOUND_A = (
    "Ash Thorn Stone Wolf Brook Marsh Black White Red Green Gold Iron Elm Oak Fern Frost Rain Cold "
    "Hollow Mill Hay Raven Fox Hart Birch Copper Moss Salt Storm Winter Summer Amber Barley Candle Dusk "
    "Ember"
).split()
COMPOUND_B = (
    "wick down ford bury field wood well ridge more ley dale ham ton stead mere croft gate moor brook "
    "hill haven water shaw hurst combe bridge"
).split()
ROLES = (
    "smith baker miller healer innkeeper captain priest fletcher tanner weaver potter carter hunter "
    "fisher scribe steward herbalist mason cooper groom cook bard guard beekeeper chandler cobbler "
    "ferryman gravedigger jeweller librarian locksmith midwife minstrel shepherd tailor tinker "
    "woodcutter brewer mapmaker astronomer alchemist ratcatcher"
).split()
ADJECTIVES = (
    "old silver broken red blue black white golden rusty small heavy carved painted cracked green iron "
    "wooden brass copper bone glass velvet leather grey crooked burnt frozen hollow silent ancient "
    "borrowed bright cheap fine long muddy narrow pale sharp tattered twisted yellow scarlet gilded "
    "patched singing nameless"
).split()
THINGS = (
    "ring key sword lantern book map bell cup flute lute cloak boot dagger mirror candle coin locket "
    "drum helmet horn letter ledger basket barrel saddle kettle needle spade shovel hammer axe bow "
    "quiver shield crown chain brooch comb doll pipe purse rope scroll seal spoon staff statue stool "
    "sundial thimble vial violin wheel whistle anchor blanket bottle bridle chest compass feather glove "
    "goblet harp ladder lens mask net oar pan pearl pillow plough pot saw scythe shawl sickle stone "
    "tapestry tinderbox tooth trumpet"
).split()
CREATURES = (
    "wolf bear ghost troll dragon witch goblin giant boar serpent raven owl stag fox wyvern ogre wraith "
    "spider unicorn griffin hound lynx eel rat toad bat crow horse knight rider stranger pedlar monk "
    "soldier thief beggar child piper"
).split()
BUILDINGS = (
    "mill chapel forge bakery tower barn stable granary library bathhouse market cellar well bridge gate "
    "harbour inn smithy shrine graveyard lighthouse orchard quarry mine school court dungeon armoury "
    "brewery tannery abbey temple guildhall watchtower ferry dovecote fountain kitchen crypt garden "
    "theatre cistern toll house boathouse pier"
).split()
FEATURES = (
    "river oak wall hill crossroads pond road stream cliff cave ford square hedge marsh meadow stairs "
    "steps waterfall willow ruins ditch elm millpond spring rock arch beach dunes glade valley causeway "
    "canal dyke"
).split()
DIRECTIONS = "north south east west".split()
NUMBERS = "two three four five six seven eight nine ten eleven twelve".split()
TENS = "fourteen sixteen twenty thirty forty sixty eighty ninety".split()
EVENTS = (
    "harvest fair|market|wedding|feast|trial|horse race|council|funeral|dance|hunt|play|auction|"
    "procession|wrestling match|vigil|tournament|evening prayer|boat race|concert|spring fair|"
    "midnight watch|assembly"
).split("|")
TIMES = (
    "at dawn|at noon|at dusk|at midnight|on market day|after the third bell|in two days|tomorrow morning|"
    "on the first frost|at sunrise|before supper|at the full moon|in three weeks|on the eve of spring|"
    "at the ninth bell|when the tide turns|tonight|after the harvest"
).split("|")
WHENS = (
    "yesterday|last night|two days ago|three days ago|last week|last winter|this morning|a month ago|"
    "at the fair|on market day|last spring|the night of the storm|before the rain|an hour ago"
).split("|")
HAPPENED = (
    "burned down|fell into the river|was stolen|was sold|collapsed|vanished|was struck by lightning|"
    "was locked|was flooded|was repaired|turned to stone|broke in two|was found again|was painted black|"
    "was carried off|stopped working|was blessed|was cursed|was closed"
).split("|")
GOODS = (
    "ale|bread|a bed for the night|stew|cider|a candle|a healing draught|rope|a lantern|honey cake|"
    "a horse|dried fish|cheese|a map of the valley|wine|a dagger|a cloak|apples|a night in the stable|"
    "lamp oil|a sword|a new boot|salt|pipe weed|mead|a bath|a pie|a whetstone|a pair of gloves|arrows|"
    "a fishing rod|a hot supper|ink and paper|a lute string|a charm against ghosts|a pot of glue|"
    "smoked ham|a wool blanket|a bag of nails|ginger tea|a shield|a shave|pickled eggs|a goose|"
    "tin soldiers|a saddle|a letter to the capital|a mule|plum brandy|a silk ribbon"
).split("|")
MONEY = "copper silver gold crowns pennies shillings marks".split()
TASKS = (
    "find {thing} {loc}|bring {thing} to {person}|carry a letter to {person} in {town}|"
    "drive the {creature} from {loc2}|fetch {thing} from {person}|learn who stole {thing}|"
    "guard the {building} until dawn|look for {person} {loc}|mend the {building} roof|"
    "ask {person} about {thing}|catch the {creature} that hides {loc}|count the sheep {loc}|"
    "deliver {good} to {person}|light the lamps {loc}|clear the {building} of rats"
).split("|")
KIN = (
    "sister|brother|cousin|friend|rival|aunt|uncle|daughter|son|apprentice|teacher|landlord|neighbour|"
    "enemy|partner|father|mother|oldest customer|captain|godchild"
).split("|")
MOODS = "calm happy sad angry afraid weary proud curious sly worried".split()
ACTIONS = "point offer wave nod shrug bow whisper ask give none".split()
STAYS = "lives works sleeps waits hides sits stays".split()
WISHES = "want seek own collect need".split()
LOVES = "love hate like".split()
NATURES = (
    "brave|greedy|honest and poor|quick to anger|kind to children|proud as a king|a terrible liar|"
    "a fine singer|half blind|in love|never late|good with horses|deaf in one ear|a friend to all|"
    "not to be trusted|stronger than an ox|older than the mill|always hungry"
).split("|")
CROWDS = "guards wolves thieves monks rats soldiers barrels sheep graves doors bandits ghosts horses".split()
ROOMS = "room loft attic hut shed yard tent passage".split()
LIKES = (
    "honey cake|old songs|clever riddles|rain on the roof|silence|strong cider|cats|fresh bread|"
    "card games|a good fight|dancing|the sea|stories of ghosts|ripe plums|poetry|horses|spiced wine|"
    "early mornings|fishing|gossip"
).split("|")
FEARS = (
    "spiders|deep water|the dark|thunder|ghosts|the tax collector|heights|wolves|fire|the duke's men|"
    "owls|crowds|graveyards|snakes|the winter|magic|rats|debt"
).split("|")
WEATHERS = "rain|snow|fog|clear sky|wind".split("|")
# Personas as people write them who have not read FORMAT.md.
PROSE_WHO = (
    "You are {name}, the {role} at {place} in {town}.|You are {name}, a {role} at {place} in {town}.|"
    "Your name is {name}. You are the {role} of {town}, and you are to be found at {place}.|"
    "You play {name}, who is the {role} at {place}, {town}.|"
    "Act as {name}, {role} in {town}. Your place is {place}.|"
    "{name} is the {role} of {place} in the town of {town}. You answer as {name}."
).split("|")
PROSE_MANNER = (
    "You are {manner}.|You speak in a {manner} way.|Your manner is {manner}.|Be {manner} in all you say.|"
    "Everybody calls you {manner}.|You sound {manner}, and keep to one or two sentences."
).split("|")
PROSE_TIME = (
    "It is {time}, with {sky}.|The time is {time}; outside there is {sky}.|It is {time} and {sky}.".split("|")
)
PROSE_MOOD = "You feel {mood}.|Today you are {mood}.|Your mood is {mood}.|You are in a {mood} mood.".split(
    "|"
)
PROSE_VISITOR = (
    "You are talking to {visitor}.|The visitor is called {visitor}.|{visitor} has come to see you."
).split("|")
PROSE_PRICE = "{good} costs {price}.|You sell {good} for {price}.|For {good} you ask {price}.".split("|")
PROSE_RUMOUR = "You have heard that|People say that|There is a rumour that".split("|")
PROSE_QUEST = {
    "open": "You need somebody to {task}, and pay {reward}. It is called {title}, and nobody took it yet.",
    "under way": "The visitor has agreed to {task} for {reward}, but has not reported. It is called {title}.",
    "done": "The visitor was to {task}; it is done, and you have paid {reward}. {title} is over.",
}
# Answers where the sheet is silent. {x}: what was asked about.
UNHEARD = (
    "I know nothing of {x}|I could not tell you about {x}|nobody has told me anything about {x}|"
    "I have never heard of {x}|{x} is a new name to me|of {x} I know nothing|that I do not know|"
    "I do not know, and I will not guess|I wish I knew, but I have not heard of {x}|"
    "you ask the wrong one, I know nothing about {x}|I have no idea|I can not say, I never heard of {x}|"
    "{x}? I have not heard of that|I do not know {x}|about {x} I can tell you nothing|"
    "I never came across {x}|that is not known to me|no word of {x} has come to my ears|"
    "if I knew anything about {x}, I would tell you|{x}? I would have to make something up|"
    "I have heard nothing about {x}|I do not know anything about {x}|I would only be guessing|"
    "somebody else may know about {x}, I do not|I have not the faintest idea about {x}"
).split("|")
HALF_KNOWN = (
    "I know {name}, but that I do not know|that I do not know of {name}|{name} never told me, I do not know|"
    "I know the name of {name}, but I have not heard that|"
    "as for that, I do not know, though I know of {name}|"
    "I know a thing or two of {name}, but not that|{name} I know of, but not that|"
    "what I know of {name} does not go so far|that I can not tell you, {name} never spoke of it|"
    "I have heard of {name}, but nothing of that|nobody told me that about {name}"
).split("|")
NO_KIN = "I have no {kin}|I have no {kin} that I know of|no, I have no {kin}|there is no {kin} of mine".split(
    "|"
)
UNSOLD = (
    "I do not sell {good}|I have no price for {good}|{good} is not among my wares|I have no {bare} for sale|"
    "no, I do not have {good}|you will not get {good} from me|{good}? I do not sell that|"
    "I never had {good} to sell|for {good} you must go elsewhere"
).split("|")
NO_NAME = (
    "you have not told me your name|I do not know, you never told me|I do not know your name|"
    "you did not say what you are called|how should I know, you never said|"
    "your name? You have not told me|that you have to tell me first|no name of yours was told to me"
).split("|")
NO_MEETING = (
    "I do not remember that we ever met|I do not think that we have met|I have no memory of that|"
    "I do not remember you|to my mind this is our first talk|I remember nothing of the kind|"
    "you must take me for somebody else, I do not remember that"
).split("|")
NOT_SO = (
    "no, {line}|that is not so, {line}|not quite, {line}|no, what I know is that {line}|"
    "you are mistaken, {line}|I heard it another way, {line}|no, no, {line}|"
    "wrong, {line}|somebody told you wrong, {line}"
).split("|")
NAMES_TOLD = (
    "My name is {v}.|I am {v}.|They call me {v}.|i'm {v}|im {v}|call me {v}|{v} is my name.|"
    "You can call me {v}.|I go by {v}.|the name's {v}|By the way, my name is {v}.|"
    "Oh, I forgot to say, I'm {v}.|{v}, at your service.|just so you know, i'm {v}|"
    "Remember my name, it is {v}.|People know me as {v}.|"
    "I'm {v}, nice to meet you.|{v} here.|{v} here, hello.|it's {v}|its {v} btw|My name? {v}.|"
    "name's {v}, pleased to meet you|the name is {v}|My friends call me {v}.|Everybody calls me {v}.|"
    "Most people call me {v}.|folks call me {v}|At home they call me {v}.|I am called {v}.|"
    "I'm called {v}, by the way.|im called {v}|You may call me {v}.|u can call me {v}|Just call me {v}.|"
    "Please call me {v}.|Do call me {v}, won't you?|Let me introduce myself: {v}.|"
    "Allow me to introduce myself. I am {v}.|May I introduce myself? {v}.|"
    "I should introduce myself. My name is {v}.|I haven't introduced myself, have I? I'm {v}.|"
    "We have not met. I am {v}.|We haven't met yet, I'm {v}|I don't believe we've met. {v}.|"
    "I never told you my name. It's {v}.|I did not tell you yet that I am {v}.|You don't know me, I'm {v}.|"
    "In case you wonder, I am {v}.|If you want to know, my name is {v}.|You asked who I am. I am {v}.|"
    "since you ask, im {v}|I was christened {v}.|I was named {v} at birth.|My mother called me {v}.|"
    "My father gave me the name {v}.|I bear the name {v}.|I carry the name of {v}.|I answer to {v}.|"
    "I'm known as {v}.|They know me as {v} where I come from.|{v} is what they call me.|"
    "{v} is what my friends call me.|{v} is the name.|{v}. That is my name.|{v}, that's my name|"
    "{v}, pleased to meet you.|Hello, I'm {v}!|Hi! {v} is my name.|hey, im {v}|hiya, {v} here|"
    "Good day, my name is {v}.|Greetings. I am {v}.|Good evening, {v} is my name.|Well met, I am {v}.|"
    "I am {v}, a traveller.|I'm {v}, and I'm new in town.|My name is {v}, and I come from far away.|"
    "My name is {v}, please remember it.|Don't forget, I'm {v}.|Keep in mind that my name is {v}.|"
    "Mark my name: {v}.|Write it down: my name is {v}.|You are talking to {v}.|You have {v} before you.|"
    "Before you stands {v}."
).split("|")
# Kept for the test.
NAMES_TOLD_HELD = (
    "People around here call me {v}.",
    "{v}, that's me.",
    "you should know that im called {v}",
    "My parents named me {v}.",
    "The name is {v}, if anybody asks.",
    "i am known as {v}",
)
NAMES_HEARD = (
    "well met, {v}|I will remember that, {v}|good to know you, {v}|{v}, then|welcome, {v}|"
    "{v}, a good name to have|so you are {v}|thank you for telling me, {v}|pleased to meet you, {v}|"
    "glad to meet you, {v}|it is good to meet you, {v}|a pleasure, {v}|{v}, a pleasure|an honour, {v}|"
    "{v} it is|{v}, I will keep that in mind|I shall not forget it, {v}|I will not forget your name, {v}|"
    "now I know what to call you, {v}|then I will call you {v}|I will call you {v} from now on|"
    "be welcome, {v}|good day to you, {v}|greetings, {v}|hello, {v}|{v}, that is easy to remember|"
    "{v}, that is a name one keeps|that is a fine name, {v}|I like that name, {v}|so {v} is your name|"
    "so they call you {v}|you are {v}, then|now we know each other, {v}|good that you say so, {v}|"
    "I am glad that you told me, {v}|{v}, I have it|I have heard it, {v}|nice to have a name for you, {v}|"
    "then be my guest, {v}"
).split("|")
STARTS = (
    "Please, |Tell me, |Excuse me, |Say, |And |Sorry, |Good day. |Hello! |hey, |Hi! |Well, |So, |"
    "One question. |Listen, |Pardon me, |um, |Before I forget. "
).split("|")
QUESTION_WORDS = frozenset(
    "Who What Where When How Why Which Whose Whom Is Are Do Does Did Has Have Can Could Would Will Was Were "
    "Tell Say Show You Your My The There They It This That In On At By Any And So May Should "
    "Please".split()
)
BEFORE_SUBJECTS = frozenset(
    "is was does did has had can could will would do that if whether when where what who whom why how so and "
    "might".split()
)

# Beginnings of an answer that says again what was said.
SAID_AGAIN = ("", "", "I said: ", "Once more: ", "Again, then: ")
YOU_SAID = ("You said: ", "Your words were: ", "You told me: ", "What you said was: ")
NOT_TOLD = (
    "you have not told me that|that you never said|you said nothing of that|I do not know, you have not said|"
    "you never told me|that I cannot know, as you have not said it|nothing of that has come up between us|"
    "you have not mentioned it|if you told me, I did not hear it|that is news to me, you never said|"
    "I have not heard that from you|you would have to tell me first"
).split("|")
