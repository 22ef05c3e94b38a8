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
MOOD_TALK = {
    "calm": "I am calm, and the day is a quiet one",
    "happy": "I am happy, I could sing",
    "sad": "I am sad, there is no hiding it",
    "angry": "I am angry, and with good reason",
    "afraid": "I am afraid, I hear things at night",
    "weary": "I am weary, I have been up since dawn",
    "proud": "I am proud of what we have here",
    "curious": "I am curious, you have an odd look about you",
    "sly": "I am well, and richer than yesterday",
    "worried": "I am worried, something is not right",
}
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
ASK_NEWS = (
    "What news?|What is the news?|Have you heard any rumours?|What do people say?|Any gossip?|"
    "Heard anything interesting?|What is new in town?|Is there any news?"
).split("|")
ASK_WORK = (
    "Do you have work for me?|Is there a quest for me?|Can I help you?|I am looking for work.|"
    "Do you need help?|Have you a task for me?"
).split("|")
ASK_TASK = "What was I to do?|What must I do?|What is my task?|Remind me of my task.".split("|")
ASK_PAST = (
    "Do you remember me?|Have we met before?|What did I promise?|What did I promise you?|"
    "What did I bring you?|What did I ask you about?|What did we talk about?"
).split("|")
ASK_NAME = "What is my name?|Do you know my name?|Who am I?".split("|")
ASK_DONE = "It is done.|I have done what you asked.|The task is done.".split("|")
ASK_GOODS = "What do you sell?|What do you have for sale?|What can I buy here?|What is on offer?".split("|")
ASK_PRICE = (
    "How much is {good}?|What does {good} cost?|What is the price of {good}?|How much for {good}?|"
    "I would like to buy {good}.|What do you want for {good}?|How much do you ask for {good}?"
).split("|")
TELL_PRICE = (
    "{good}? That is {price}|for {good} I ask {price}|the price of {good} is {price}|{price} for {good}"
).split("|")
ASK_MORE = ("What ", "Where ", "Have you seen", "I am looking", "When ", "How ", "Is ", "Whom ", "Who is")
HALF_KNOWN = (
    "I know {name}, but that I do not know|that I do not know of {name}|{name} never told me, I do not know|"
    "I know the name of {name}, but I have not heard that"
).split("|")
HEARSAY = "They say that {}|People say that {}|I heard that {}|The talk is that {}".split("|")
LIKES = (
    "honey cake|old songs|clever riddles|rain on the roof|silence|strong cider|cats|fresh bread|"
    "card games|a good fight|dancing|the sea|stories of ghosts|ripe plums|poetry|horses|spiced wine|"
    "early mornings|fishing|gossip"
).split("|")
FEARS = (
    "spiders|deep water|the dark|thunder|ghosts|the tax collector|heights|wolves|fire|the duke's men|"
    "owls|crowds|graveyards|snakes|the winter|magic|rats|debt"
).split("|")
