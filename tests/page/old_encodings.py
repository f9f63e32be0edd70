"""Texts of two or three sentences in many languages, with the encodings that pages in these languages had before UTF-8.

The first sentences are Article 1 of the Universal Declaration of Human Rights, which is in the public domain; the
sentences after them were written for these tests.
"""

from __future__ import annotations

import unicodedata
from typing import Final

TEXTS: Final = {
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni "
    "rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa. Biblioteka przy rynku jest otwarta od "
    "dziewiątej, a książki można oddać także w sobotę.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a "
    "mají spolu jednat v duchu bratrství. Knihovna na náměstí otevírá v devět hodin a knihy lze vrátit také v sobotu.",
    "sk": "Všetci ľudia sa rodia slobodní a sebe rovní, čo sa týka ich dôstojnosti a práv. Sú obdarení rozumom a "
    "majú navzájom jednať v bratskom duchu. Knižnica na námestí otvára o deviatej a knihy možno vrátiť aj v sobotu.",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és "
    "lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek. A főtéri könyvtár "
    "kilenckor nyit, és a könyveket szombaton is vissza lehet vinni.",
    "ro": "Toate fiinţele umane se nasc libere şi egale în demnitate şi în drepturi. Ele sunt înzestrate cu "
    "raţiune şi conştiinţă şi trebuie să se comporte unele faţă de altele în spiritul fraternităţii. Biblioteca din "
    "piaţă se deschide la ora nouă, iar cărţile pot fi aduse şi sâmbăta.",
    "hr": "Sva ljudska bića rađaju se slobodna i jednaka u dostojanstvu i pravima. Ona su obdarena razumom i "
    "sviješću i trebaju jedna prema drugima postupati u duhu bratstva. Knjižnica na trgu otvara se u devet sati, a "
    "knjige se mogu vratiti i u subotu, kad je čitaonica zatvorena.",
    "sl": "Vsi ljudje se rodijo svobodni in imajo enako dostojanstvo in enake pravice. Obdarjeni so z razumom in "
    "vestjo in bi morali ravnati drug z drugim kakor bratje. Knjižnica na trgu se odpre ob devetih, knjige pa lahko "
    "vrnete tudi v soboto, ko čitalnica še ni odprta.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve "
    "birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler. Meydandaki kütüphane saat dokuzda açılır, "
    "kitaplar cumartesi günü de geri verilebilir.",
    "lt": "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Jiems suteiktas protas ir sąžinė ir jie turi "
    "elgtis vienas kito atžvilgiu kaip broliai. Biblioteka prie aikštės atidaroma devintą valandą, o knygas galima "
    "grąžinti ir šeštadienį.",
    "lv": "Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās. Viņi ir apveltīti ar saprātu un "
    "sirdsapziņu, un viņiem jāizturas citam pret citu brālības garā. Bibliotēka pie laukuma tiek atvērta deviņos, un "
    "grāmatas var nodot arī sestdien.",
    "et": "Kõik inimesed sünnivad vabadena ja võrdsetena oma väärikuselt ja õigustelt. Neile on antud mõistus ja "
    "südametunnistus ja nende suhtumist üksteisesse peab kandma vendluse vaim. Raamatukogu väljaku ääres avatakse "
    "kell üheksa ja raamatuid saab tagastada ka laupäeval.",
    "vi": "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo "
    "hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu. Thư viện ở quảng trường mở cửa "
    "lúc chín giờ, và sách có thể trả vào thứ bảy.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι "
    "με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης. Η βιβλιοθήκη στην "
    "πλατεία ανοίγει στις εννέα.",
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا "
    "بروح الإخاء. تفتح المكتبة في الساحة في الساعة التاسعة، ويمكن إعادة الكتب يوم السبت أيضا.",
    "fa": "تمام افراد بشر آزاد به دنيا مي آيند و از لحاظ حيثيت و حقوق با هم برابرند. همه داراي عقل و وجدان هستند و "
    "بايد نسبت به يکديگر با روح برادري رفتار کنند. کتابخانه ميدان ساعت نه باز مي شود و کتاب ها را مي توان شنبه هم پس "
    "داد.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג "
    "איש ברעהו ברוח של אחווה. הספרייה בכיכר נפתחת בשעה תשע, ואפשר להחזיר ספרים גם ביום שישי.",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม "
    "และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ ห้องสมุดที่จัตุรัสเปิดเวลาเก้าโมง และคืนหนังสือได้ในวันเสาร์",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и "
    "должны поступать в отношении друг друга в духе братства. Библиотека на площади открывается в девять часов, а "
    "книги можно вернуть и в субботу.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і "
    "повинні діяти у відношенні один до одного в дусі братерства. Бібліотека на площі відчиняється о дев'ятій, а "
    "книжки можна повернути й у суботу.",
    "bg": "Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест и следва "
    "да се отнасят помежду си в дух на братство. Библиотеката на площада отваря в девет часа, а книгите могат да се "
    "върнат и в събота.",
    "sr": "Сва људска бића рађају се слободна и једнака у достојанству и правима. Она су обдарена разумом и свешћу "
    "и треба једни према другима да поступају у духу братства. Библиотека на тргу отвара се у девет часова, а књиге "
    "се могу вратити и у суботу.",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。广场边的图书馆九点"
    "开门，借来的书也可以在星期六归还，晚到的人请按门铃。",
    "zh-tw": "人人生而自由，在尊嚴和權利上一律平等。他們賦有理性和良心，並應以兄弟關係的精神相對待。廣場邊的圖書館"
    "九點開門，借來的書也可以在星期六歸還，晚到的人請按門鈴。",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心と"
    "を授けられており、互いに同胞の精神をもって行動しなければならない。広場の図書館は九時に開き、本は土曜日にも返すこ"
    "とができる。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 "
    "부여받았으며 서로 형제애의 정신으로 행동하여야 한다. 광장의 도서관은 아홉 시에 열고, 책은 토요일에도 돌려줄 수 "
    "있다.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de "
    "conscience et doivent agir les uns envers les autres dans un esprit de fraternité. La bibliothèque de la place "
    "ouvre à neuf heures, et les livres prêtés peuvent être rendus le samedi.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geiste der Brüderlichkeit begegnen. Die Bücherei am Markt öffnet um neun, und "
    "Bücher können auch samstags zurückgegeben werden.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y "
    "conciencia, deben comportarse fraternalmente los unos con los otros. La biblioteca de la plaza abre a las "
    "nueve, y los libros también se pueden devolver el sábado por la mañana.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de "
    "consciência, devem agir uns para com os outros em espírito de fraternidade. A biblioteca da praça abre às nove, "
    "e os livros também podem ser devolvidos no sábado.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di "
    "coscienza e devono agire gli uni verso gli altri in spirito di fratellanza. La biblioteca della piazza apre "
    "alle nove, e perciò i libri si possono rendere già il sabato.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en "
    "geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen. De bibliotheek aan het "
    "plein gaat om negen uur open, en alle geleende boeken kunnen ook één dag later terug, zonder ruzie met "
    "categorieën.",
    "ca": "Tots els éssers humans neixen lliures i iguals en dignitat i en drets. Són dotats de raó i de "
    "consciència, i han de comportar-se fraternalment els uns amb els altres. La biblioteca de la plaça obre a les "
    "nou, i els llibres també es poden tornar el dissabte.",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och samvete "
    "och bör handla gentemot varandra i en anda av broderskap. Biblioteket vid torget öppnar klockan nio, och "
    "böckerna kan lämnas tillbaka även på lördagar.",
    "da": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og "
    "samvittighed, og de bør handle mod hverandre i en broderskabets ånd. Biblioteket på torvet åbner klokken ni, og "
    "bøgerne kan også afleveres om lørdagen.",
    "no": "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med fornuft "
    "og samvittighet og bør handle mot hverandre i brorskapets ånd. Biblioteket på torget åpner klokka ni, og bøkene "
    "kan også leveres på lørdager.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki "
    "ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä. Torin laidan kirjasto avataan "
    "yhdeksältä, ja kirjat voi palauttaa myös lauantaina.",
    "is": "Hver maður er borinn frjáls og jafn öðrum að virðingu og réttindum. Menn eru gæddir vitsmunum og "
    "samvisku, og ber þeim að breyta bróðurlega hverjum við annan. Bókasafnið við torgið er opnað klukkan níu, og "
    "bókum má líka skila á laugardögum.",
    "sq": "Të gjithë njerëzit lindin të lirë dhe të barabartë në dinjitet dhe në të drejta. Ata kanë arsye dhe "
    "ndërgjegje dhe duhet të sillen ndaj njëri-tjetrit me frymë vëllazërimi. Biblioteka në shesh hapet në orën "
    "nëntë, dhe librat mund të kthehen edhe të shtunën.",
    "ga": "Saolaítear gach duine den chine daonna saor agus comhionann i ndínit agus i gcearta. Tá bua an réasúin "
    "agus an choinsiasa acu agus ba cheart dóibh gníomhú i dtreo a chéile i spiorad an bhráithreachais. Osclaíonn an "
    "leabharlann ar an gcearnóg ag a naoi a chlog.",
}
"""The texts by language code."""

_LATIN_1: Final = "fr de es pt it nl ca sv da no fi is sq ga et"
ENCODED: Final = [
    *(
        (language, codec)
        for language in ["pl", "cs", "sk", "hu", "ro", "hr", "sl"]
        for codec in ("cp1250", "iso8859-2")
    ),
    *((language, "cp1257") for language in ["lt", "lv", "et"]),
    *((language, "cp1252") for language in _LATIN_1.split()),
    *((language, "cp1251") for language in ["ru", "uk", "bg", "sr"]),
    *(("ru", codec) for codec in ("koi8-r", "iso8859-5", "cp866")),
    ("uk", "koi8-u"),
    ("bg", "iso8859-5"),
    ("tr", "cp1254"),
    ("vi", "cp1258"),
    ("el", "cp1253"),
    ("el", "iso8859-7"),
    ("ar", "cp1256"),
    ("ar", "iso8859-6"),
    ("fa", "cp1256"),
    ("he", "cp1255"),
    ("th", "cp874"),
    ("zh", "gb18030"),
    ("zh-tw", "big5hkscs"),
    ("ja", "cp932"),
    ("ja", "euc_jp"),
    ("ja", "iso2022_jp"),
    ("ko", "cp949"),
]
"""A language, and Python's name of a codec of pages in it."""
_TONES: Final = "\u0300\u0301\u0303\u0309\u0323"


def encoded(text: str, codec: str) -> bytes:
    """The bytes of a text; Vietnamese tones stand behind their letters in windows-1258."""
    return (_with_tones_behind(text) if codec == "cp1258" else text).encode(codec)


def _with_tones_behind(text: str) -> str:
    """The text with tone marks as separate characters; letters keep their circumflex, breve or horn."""
    spelled = []
    for letter in text:
        marks = unicodedata.normalize("NFD", letter)
        tones = [mark for mark in marks if mark in _TONES]
        spelled += [unicodedata.normalize("NFC", "".join(mark for mark in marks if mark not in _TONES)), *tones]
    return "".join(spelled)
