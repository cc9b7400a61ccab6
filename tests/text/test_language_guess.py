import pytest

from streamflow.text.language_guess import LanguageGuess


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "This is what you get when the cat is not there"),
        ("de", "Das ist nicht der Weg, den wir gehen"),
        ("fr", "Le chat est dans la maison avec les enfants"),
        ("es", "El perro está en la casa con los niños"),
        ("it", "Il gatto è nella casa e non si muove"),
        ("nl", "Het is een huis van de man die niet komt"),
        ("pl", "To jest dom, w którym nie ma już nikogo"),
        ("pt", "Não sei o que você quer com uma casa"),
        ("da", "Det er ikke en god idé på denne måde"),
        ("sv", "Det är inte en bra idé på detta sätt att"),
        ("cs", "To je dům, ve kterém už není nikdo a je se"),
        ("tr", "Bu çok güzel bir ev ve daha büyük değil"),
        ("ru", "Это не то, что мы хотели для вас"),
        ("uk", "Це не те, що ми хотіли для вас"),
        ("bg", "Това не е това, което се случи на хората"),
        ("kk", "Бұл қазақ тілі үшін маңызды"),
        ("ar", "هذا هو البيت الذي كان في المدينة"),
        ("fa", "این خانه را برای شما از تهران خریدم که است"),
        ("ur", "یہ گھر ہمارے شہر میں ہے اور بڑا ہے"),
        ("el", "Αυτό είναι το σπίτι της γάτας"),
        ("hi", "यह घर हमारे शहर में है"),
        ("ja", "これは猫です"),
        ("ko", "이것은 고양이입니다"),
        ("zh", "这是一只猫"),
        ("hy", "սա տուն է"),
        ("am", "ይህ ቤት ነው"),
        ("my", "ဤသည်အိမ်ဖြစ်သည်"),
    ],
)
def test_the_language_of_a_text_is_guessed(code, text):
    assert LanguageGuess().at(text, 0, len(text)).code == code


def test_the_guess_follows_a_change_of_language():
    guess = LanguageGuess()
    english = "This is what you get when the cat is not there"
    german = "Das ist nicht der Weg, den wir mit dem Hund gehen"
    codes = [guess.at(sentence, 0, len(sentence)).code for sentence in [english] * 5 + [german] * 5]
    assert codes[:5] == ["en"] * 5
    assert codes[-2:] == ["de"] * 2


def test_while_little_speaks_for_a_language_the_titles_of_its_neighbours_count():
    unsure = LanguageGuess().at("Hola Srta", 0, 9)
    assert unsure.behaviour("Srta") == "title"
    assert unsure.behaviour("on") == ""


def test_without_words_it_is_english():
    assert LanguageGuess().at("123 45", 0, 6).code == "en"
