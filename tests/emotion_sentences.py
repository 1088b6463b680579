"""Lines as characters of a fantasy MUD would say them, by what the one who speaks feels.

Four for each label of Plutchik's wheel, written for this; no line of a text of others. The first
two of each are what the classifier was made by; the last two are held out, to measure it with.
"""

from __future__ import annotations

DEVELOPMENT = slice(0, 2)
HELD_OUT = slice(2, 4)

SENTENCES: dict[str, tuple[str, str, str, str]] = {
    "ecstasy": (
        "She said yes! Ring the bells, pour for everyone, I could fly over the rooftops!",
        "Twelve years in that dungeon, and now the sun on my face! I laugh and I cannot stop!",
        "We did it! The curse is lifted, the valley is singing, I could kiss every one of you!",
        "I held my newborn and the whole world turned to gold, I tell you, I was floating!",
    ),
    "joy": (
        "My daughter came home from the war, and we danced until the candles burned out.",
        "Look, the first strawberries! Come, eat with me, what a lovely morning.",
        "The baker gave me a honey cake for my name day, and I have been smiling ever since.",
        "Best harvest in years, and the fiddler is back in town. Life is good, friend!",
    ),
    "serenity": (
        "The lake is like glass this evening. I could sit here with my pipe for hours.",
        "No quarrel with anyone, bread in the oven, rain on the roof. I want for nothing.",
        "After prayers I walk among the apple trees, and every care falls off me.",
        "Snow outside, fire in the hearth, the cat on my knee. Let the world go by.",
    ),
    "admiration": (
        "She held that bridge alone against twenty men. I've never met her equal.",
        "You taught yourself to read from gravestones? By the gods, that takes a rare spirit.",
        "Nobody forges a blade like old Hilda. They'll speak of her work in a hundred years.",
        "He gave his own cloak to a beggar in midwinter. Would that I were half the man he is.",
    ),
    "trust": (
        "Here, keep my purse while I'm away. I won't even count it when I come back.",
        "If Bram says the ice will hold, then it will hold. He has never told me a lie.",
        "I'd put my children's lives in the captain's hands without a second thought.",
        "Take the key to my house, old friend, and come and go as you like.",
    ),
    "acceptance": (
        "So the tower went to my brother. Father wanted it that way, and I'll not fight it.",
        "I've one leg now, and that's that. I carve spoons instead.",
        "Half orc or no, you are what you are, and there's a place at our table for you.",
        "The river takes what it takes. We'll build a little higher up the bank.",
    ),
    "terror": (
        "It's in the house! Gods, it's coming up the stairs, don't let it get me!",
        "The dead were clawing out of the ground all around us, I screamed till I had no voice!",
        "Dragon! Dragon! Get the children down into the well, it's burning everything!",
        "It opened its jaws over me and I couldn't move, couldn't breathe, I thought I'd die!",
    ),
    "fear": (
        "I won't walk through that wood after dark. My hands shake when I hear the howling.",
        "Please don't tell the baron that I spoke to you. He'd have me hanged.",
        "Something is breathing behind that wall. Don't go near it, I beg you.",
        "My knees went to water when the ogre turned its head our way.",
    ),
    "apprehension": (
        "The scouts should have been back by noon. I don't like it.",
        "Too many strangers in town this week, and the dogs won't settle. Something's brewing.",
        "What if the ship isn't here before the frost? We've flour for ten days, no more.",
        "The king has sent for me, and won't say why. I've hardly slept.",
    ),
    "amazement": (
        "The whole city hung in the clouds, towers and all! I stood there with my mouth open.",
        "He spoke one word and the river rose up like a wall of crystal! Who would believe it?",
        "Did you see? The statue shed real pearls, before our very eyes!",
        "A tree as tall as a mountain, with lanterns for fruit! I thought I had gone mad.",
    ),
    "surprise": (
        "What? You're back? They told us you'd drowned!",
        "I opened the barrel for herring and out jumped a goblin!",
        "Wait, the old beggar is the duke's son? Since when?",
        "Well, I'll be! I came in for a candle and the whole village leapt out at me.",
    ),
    "distraction": (
        "Hm? Oh, the stew's burning again. I keep looking at that fellow with the parrot.",
        "I came into the pantry for a thing, now which was it? And where are my spectacles?",
        "Forgive me, I lost count of the arrows again, with all this hammering next door.",
        "Eh? Did you ask me something? That tune won't leave my head.",
    ),
    "grief": (
        "We put my little boy in the earth on Tuesday. I can't, I can't speak of it.",
        "My wife is gone, gone, and I howl in the night like a dog. Why was it not me?",
        "They brought him back on his shield. My son, my only one, cold as stone.",
        "I hold her dress to my face and cry until there is no more in me.",
    ),
    "sadness": (
        "The inn is so quiet since the children moved away. I hardly light the lamps.",
        "He promised to write from the coast, and not one letter came.",
        "They cut down the old oak where we used to play. I couldn't look.",
        "Nobody came to my name day feast. I ate the pie by myself and went to bed.",
    ),
    "pensiveness": (
        "Sometimes I look at the stars and ask myself where all the years went.",
        "If I had taken the other road that day, who would I be now?",
        "I've turned it over all evening: was the old king truly wicked, or only lonely?",
        "Strange, to hold my grandfather's sword. He was my age once, by this same sea.",
    ),
    "loathing": (
        "Slavers. There's nothing lower that crawls. I spit on the ground they walk on.",
        "Don't speak the traitor's name in my house. The very sight of him turns my blood.",
        "Those cultists aren't people, they're filth, and I hope the earth swallows every one.",
        "I'd sooner drink with a plague rat than share a roof with that tax collector.",
    ),
    "disgust": (
        "There was a drowned rat in the ale barrel. I'd already had two mugs.",
        "Ugh, the smell from the tanner's pit! My breakfast nearly came up.",
        "He pulled a green, slimy thing out of his beard and ate it.",
        "Pus, lice and rotten straw: I wouldn't put a pig in that cell.",
    ),
    "boredom": (
        "Fourth night on the wall, counting sheep. I've named every stone by now.",
        "The bishop is on hour three of his sermon. Wake me up when he's through.",
        "Another day of peeling turnips. Yesterday turnips, tomorrow turnips.",
        "What is there to do in this village but look at the paint peel off the mill?",
    ),
    "rage": (
        "I'll burn his hall to the ground with him inside! Let me go! Let me at him!",
        "They slaughtered my horses! I'll tear out their throats with my own teeth!",
        "Give me that axe! I'll split the skull of the dog that laid hands on her!",
        "I smashed every chair in the room, and I'd have smashed his face too, the liar!",
    ),
    "anger": (
        "You sold me a lame mule, you cheat! I want my silver back.",
        "How dare the council raise the toll again, with people starving!",
        "He broke his oath to my family, and I'll not forgive it.",
        "Don't you lay the blame on me! It was your turn on the wall, and you slept!",
    ),
    "annoyance": (
        "Will you quit tapping that spoon? I've asked you twice.",
        "That rooster again, before dawn, right under my window.",
        "Every single time I sit down, somebody shouts for more ale.",
        "If the bard plays that song once more, I'll stuff a sock in his lute.",
    ),
    "vigilance": (
        "Two at the gate, one on the roof, and nobody sleeps until sunrise.",
        "I saw a flicker beyond the ridge. Hold still. Eyes on the treeline.",
        "Count everyone who comes through here, and search every cart, false bottoms too.",
        "Hands on your sword hilts, lads. I want a man at each window.",
    ),
    "anticipation": (
        "Three more sleeps till the midsummer fair! I've been saving coppers since spring.",
        "The ship docks at dawn, and he'll be on it. I've already pressed my good dress.",
        "Once the snow melts, we ride for the capital. My bags are packed.",
        "Any day now the mare will foal, and I've made a bed of clean straw.",
    ),
    "interest": (
        "How does the lock work, then? Show me the inside, the little wheels.",
        "You've been to the Sunken Library? What did the books look like? Were there maps?",
        "These runes are older than elvish. Let me copy them, I must find out what they say.",
        "So the bees dance to show each other the way? Who found that out, and how?",
    ),
}
