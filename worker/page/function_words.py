"""Function words of languages other than Chinese and English, by the language's code; in normalised spelling.

Chosen from stopwords-iso (https://github.com/stopwords-iso, MIT License, Copyright (c) 2020 Gene Diaz) and from
stop-words (https://github.com/Alir3z4/python-stop-words, BSD License, Copyright (c) Alireza Savand): of each list the
words that texts hold most often, about a hundred. Serbian is Croatian in the other script. Of languages that are
written without blanks these are pairs of written characters, as texts are cut into them.
"""

from __future__ import annotations

from typing import Final

FUNCTION_WORDS: Final = {
    "ar": """
        أجل أكثر أن أنا أنت أو أي إذا إلى إن التي الثاني الذي الذين الوقت الى اليوم ان او ب بسبب بشكل بعد بعض بل بما بن
        به بها بين تلك تم ثم جميع حتى حول حيث خلال دون ذلك سنة عام عدد على عليك عليه عليها عن عند عندما غير فى في فيه
        فيها قال قبل قد كان كانت كل كما كيف لا لك لكن لم لما لن لنا له لها لو لي ما مثل مع مما من منذ منها هذا هذه هل هم
        هنا هناك هو هي و واحد وفي وقد ولا ومن وهو وهي يكون يمكن يوم
    """,
    "bg": """
        а аз ако без беше бъде в вече ви време все всеки всички всичко във г ги го година години да ден до добре други е
        един една едно за защо защото и или им има как какво както като когато което които кой който която към ли малко
        ме между мен ми много може му на над най не него нещо ни но някой няма от още по повече преди през при с са само
        се сега си след сме съм със също тази така там те тези ти това този той толкова трябва тук тя че ще я
    """,
    "bn": """
        অনেক আগে আছে আজ আপনার আপনি আমরা আমাদের আমার আমি আর উপর এ এই একটি এখন এখানে এটা এটি এবং এমন এর ও করছে করতে করবে
        করা করার করি করে করেছে করেছেন করেন কাছে কাজ কি কিছু কিন্তু কে কেউ কেন কোন খুব গেছে ছিল জন জন্য তবে তা তাই তাকে
        তাদের তার তারা তিনি তুমি তো থাকে থেকে দিকে দিতে দিন দিয়ে দুই দেখা নতুন নয় না নিয়ে নেই পর পরে পর্যন্ত পারে
        প্রথম বলে বা বিভিন্ন বেশি মতো মধ্যে মনে মাধ্যমে যখন যদি যা যাবে যায় যে রয়েছে শুরু সব সে সেই হচ্ছে হতে হবে হয়
        হয়ে হয়েছে
    """,
    "ca": """
        a abans així això al als altre altres amb aquest aquesta aquestes aquests aquí bé cada contra de del dels des
        després durant el els em en encara ens entre era es estan estat està et fa fer fins ha han haver havia he hem hi
        ho i ja jo la les li mateix molt més ni no només nostra nostre nostres o on pel pels per perquè però poder
        primer qual quan que qui què sense ser seu seus seva seves si sobre són també tan tant tenir tot totes tots un
        una uns us va vaig van és
    """,
    "cs": """
        a aby ale ani asi až bez bude by byl byla bylo být co další dnes do ho i jak jako je jeho jejich jen ještě ji
        již jsem jsme jsou jste já k kde kdo kdy když která které který mezi mi moc má mám mít mě může na nad ne nebo
        není než nic nám nás něco o od pak po podle pokud pro protože proč první před při s se si své tak také takže tam
        ten ti to toho tomu tu ty tím u už v ve vám vás více však z za ze či že
    """,
    "da": """
        af alle alt andre at bare blev blive bliver da de dem den denne der deres det dette dig din du efter eller en
        end er et fik flere for fra få får god godt ham han hans har havde have helt her hun hvad hvis hvor hvordan i
        ikke ind ja jeg jo kan kommer kun kunne lidt lige man mange med meget men mere mig min mod må noget nogle nu når
        og også om op os over på se selv sig sin skal skulle som så til to ud under ved vi vil ville vores være været
    """,
    "de": """
        ab aber alle alles als also am an auch auf aus bei bin bis da dann das dass dem den denn der des die diese
        dieser doch du durch ein eine einem einen einer er es für ganz gegen geht gibt gut habe haben hat hatte hier ich
        ihr ihre im immer in ist ja jetzt kann keine können machen man mehr mich mir mit muss nach nicht noch nur oder
        schon sehr sein seine sich sie sind so um und uns unter viel vom von vor war was wenn werden wie wieder wir wird
        wurde zu zum zur über
    """,
    "el": """
        α ακομα αλλα αν απ απο αυτα αυτη αυτο για δε δεν εγω ειμαι ειναι εισαι ειχε ενα εναν ενασ ενω επισησ ετσι εχει
        εχεισ εχουμε εχουν εχω η ηταν θα κ καθε καθωσ και καλα κατα κατι κι λιγο μαζι μασ με μεσα μετα μεχρι μη μην μια
        μονο μου μπορει να ναι ο οι ολα ολοι ομωσ οποια οπωσ οταν οτι ουτε οχι πιο πολυ που πρεπει πριν προσ πωσ σαν σασ
        σε σημερα σου στα στη στην στισ στο στον στουσ τα τη την τησ τι τισ το τον τοσο τοτε του τουσ των τωρα χωρισ ωσ
    """,
    "es": """
        a ahora al algo antes así bien cada como con cosas cuando de del desde después donde dos e el en entre era es
        esa ese eso esta este esto estoy está están fue gran ha hace hacer han hasta hay la las le les lo mas me mejor
        menos mi mismo mucho muy más nada ni no nos nunca o otra otro otros para pero poco por porque puede que qué se
        sea ser si siempre sin sobre solo son su sus también tan tanto te tengo tiene todo todos tu un una uno va ver y
        ya yo
    """,
    "et": """
        aga ei et ja jah kas kui kõik ma me mida midagi mind minu mis mu mul mulle nad nii oled olen oli oma on pole sa
        seda see selle siin siis ta te ära
    """,
    "fa": """
        آن از است استفاده الان اما انجام او اول اون اگر اگه ای این اینکه با باشد باید بدون بر برای بعد به بود بوده بیشتر
        بین تا تمام تو حال حالا خوب خود خیلی داد دارد دارم داره داشته در دو دیگر را راه رو روز روی زمان سر شد شدن شده
        شما شود فقط فکر كه ما مثل مردم من مورد می نام نه نیز نیست ها های هر هست هستند هم همه و وجود ولی پس پیش چرا چند
        چه چون چی کرد کردم کردن کرده کن کند کنم کنید که گفت ی یا یه یک یکی
    """,
    "fi": """
        aika aikana aina ehkä ei eikä eivät eli en enemmän ennen enää eri esimerkiksi et ettei että he hyvin hyvä hän
        hänen ihan itse ja jo joka joku jonka jos jossa jotain joten jotka juuri jälkeen kaikki kaksi kanssa kiitos koko
        koska kuin kuitenkin kun kuten kyllä lisäksi miksi mikä miten mitä mitään mukaan mutta myös ne niin noin nyt
        näin ole olen oli olisi olla ollut on onko ovat paljon se sekä sen siihen siinä siis siitä sillä sitten sitä
        taas tai tulee tuo tämä tämän tässä tästä tätä vaan vaikka vain vastaan vielä voi vuoden vähän yksi yli
    """,
    "fr": """
        a ai alors après au aussi autre autres aux avait avec avoir bien c ce ces cette comme d dans de des deux dire
        dit du elle en encore entre est et faire fait faut fois il ils j je l la le les leur lui là m ma mais me moi mon
        même n ne non nous on ont ou où par pas peu peut plus pour qu quand que qui rien s sa sans se ses si son sont
        suis sur t te toujours tous tout très tu un une va vous y à ça était été être
    """,
    "he": """
        אבל או אולי אותה אותו אותי אותך אותם אותנו אז אחר אחרי אחרים אחרת אי איזה איך אין איפה אך אל אלה אלו אם אנחנו
        אני אף אצל אשר את אתה אתם באמצעות בגלל בין בלי בשביל בתוך גם דרך הוא היא היה היתה הם הן הנה ואת זאת זה יהיה יכול
        יכולה יכולים יש כאן כאשר כולם כזה כי כך כל כלל כמו כן כפי לא לה להיות להם לו לי לכם למה למרות לנו לפני מה מול מי
        מן נגד עד על עליו עם עצמו פה רק שוב של שלה שלהם שלו שלי שלך שלכם שלנו שם תהיה
    """,
    "hi": """
        अपना अपनी अपने अभी आप इन इस इसका इसके इसी इसे उनकी उनके उन्हें उस उसके उसे एक एवं ऐसे ओर और कई कर करता करते करना
        करने करें कहते कहा का कि किया किसी की कुछ के को कोई कौन गया घर जब जा जैसे जो तक तब तरह तुम तो था थी थे दिया दो
        द्वारा न नहीं ना ने पर पहले पे फिर बहुत बाद भी मे में मैं यह या ये रहा रहे लिए लेकिन व वह वाले वे सकता सकते सबसे
        सभी साथ से ही हुआ हुई हुए है हैं हो होता होती होते होने
    """,
    "hr": """
        a ako bi bih bila bili bilo bio biti da do ga i iako ih ili iz ja je jedna jedno jer još kada kako kao koja koje
        koji kojima koju kroz li me mi mu na nakon nam nas naš naše ne nego neki nema neće nešto ni nije nisam nisu
        njega njegov njih no o od on ona oni ono ova pa po pod prije s sa samo se sebe si smo ste su sve svi svoj svoje
        ta tada taj tako te ti to tome tu u uz vam vas već vi vrlo za će ćemo što
    """,
    "hu": """
        a ahol aki akkor alatt ami amikor amit arra az azt aztán azért be ben csak de e egy egyik egész el első elég
        előtt ez ezek ezt ezért fel ha hogy hát igen ilyen is itt jó jól kell ki két között le legyen lehet lenne lesz
        lett ma majd meg mert mi miatt mikor milyen minden mindig mint mit miért most már más még nagy nagyon ne nekem
        neki nem nincs olyan ott pedig rá s se sem sok szerint te több után vagy vagyok valami van vannak volna volt
        által át én és így úgy új ő
    """,
    "id": """
        ada adalah akan aku anda apa atas atau bagian bahwa baik banyak baru beberapa belum benar bersama besar bisa
        bukan cara dalam dan dapat dari dengan di diri dua hal hanya harus ia ingin ini itu jadi jangan jika juga kalau
        kami kamu karena ke kembali kepada ketika kita lagi lain lalu lebih masih mau melakukan membuat menjadi mereka
        mulai mungkin oleh pada para pasti pernah pertama punya saat saja sama sampai sangat satu saya sebagai sebuah
        secara sekarang selalu selama semua sendiri seorang seperti setelah setiap siapa sudah tak tanpa tapi telah
        tempat tentang terjadi tersebut tidak untuk yang
    """,
    "it": """
        a ad ai al alla alle altri anche ancora c che chi ci come con così cui d da dal dalla degli dei del della delle
        di dopo dove due e ed era essere fa fare fatto già gli ha hanno ho i il in io l la le lo loro ma mai me mi mia
        mio molto ne nei nel nella no non o ogni per perché più poi prima può quando quanto quella quello questa questo
        se sei sempre senza si sia solo sono stato su sua sul sulla suo ti tra tutti tutto un una uno è
    """,
    "ja": """
        あり ある いて いま いる うに から があ がで きま きる こと この さい され した して しま する その って てい
        てく でき です では とが とし とは とも ない など なり なる にな には によ ます また ょう よう りま るか るこ
        ると れて れま れる
    """,
    "km": """
        ការ ក្នុង ជាមួ ដល់ ដូច ដើម្បី ដែល ដោយ តាម ត្រូវ ទាំង ទើប ទៀត និង នឹង បស់ បាន ប៉ុន្តែ ប្រសិ ពួក ពេល មក មាន មិន
        មួយ ម្រាប់ យើង រប រួម សម្រា សិន ហើយ អាច អំពី អ្នក
    """,
    "ko": """
        가장 같은 것 것은 것을 것이 것이다 것입니다 경우 그 그것은 그들 그래서 그러나 그런 그리고 나 나는 나의 내 내가
        너 다른 다시 당신 대로 대한 대해 더 되는 된 된다 될 됩니다 등 따라 때 때문에 또는 또한 만약 많은 매우 모두 모든
        못 및 바로 수 수도 습니다 아니 아니라 아닌 아주 아직 안 않는 않습니다 않은 어떤 없는 없다 없습니다 에서 여기
        여러분 왜 우리 위한 위해 으로 의해 이 이것은 이는 이런 이를 이미 입니다 있는 있다 있도록 있습니다 있었다 잘 저
        전 제 좀 중 지만 통해 하고 하기 하나의 하는 하면 하여 하지만 한 한다 할 함께 합니다 해서 해야 했다 했습니다 후
    """,
    "lo": """
        ກັບ ການ ກ່ຽ ຂອ ຂຶ້ນ ຄວ ຄວາ ຈາກ ຈຶ່ງ ຊຶ່ງ ຍັງ ດ້ວ ຕາມ ຕ້ອ ທັງ ນັ້ນ ພວ ມາດ ຢ່າງ ລະຫ ລັບ ວກ ວກັ ວຍ ວນ ວາມ ວ່າງ ສາມາ
        ສໍາລັ ຫວ່າ ຫຼາຍ ອງ ອາດ ຽວ ເຊັ່ນ ເຖິງ ເປັນ ເພື່ອ ເມື່ອ ແລ້ວ ໂດຍ
    """,
    "lt": """
        ant apie ar arba be bei bent bet beveik dar gal gana iki ir irgi jei jeigu ji jis jog juk jums jus kad kada
        kadangi kai kaip kas kiek kita kitas kokia koks kol kur kuri kuris man mane mano mes mums mus na ne nei nes net
        nors nuo o pagal pas pat pati pats per po prie sau save savo su ta tad tai taigi taip tarp tas tavo tiesiog tik
        tokia toks toliau tu vienas vis visas vos
    """,
    "lv": """
        aiz ap ar arī bet bez bija biju būs būt caur droši dēļ esam esat esi esmu gan ir it ja jau jeb jo jā ka kamēr
        kaut kopš kā lai līdz ne nekā nevis no nu nē pa par pat pie pirms pret pēc starp tad taču te tiek tik tika tikai
        tikko tiks tikt tomēr tā tādēļ tāpēc un uz vai varat vien zem
    """,
    "mr": """
        अधिक अनेक अशी असलयाचे असलेल्या असा असून असे आज आणि आता आपल्या आला आली आले आहे आहेत एक एका कमी करणयात करून का काम
        काय काही किवा की केला केली केले कोटी गेल्या घेऊन जात झाला झाली झाले झालेल्या टा डॉ तर तरी तसेच ता ती तीन ते तो
        त्या त्याचा त्याची त्याच्या त्याना त्यानी त्यामुळे त्री दिली दोन न नाही निर्ण्य पण पम परयतन पाटील म मात्र माहिती
        मी मुबी म्हणजे म्हणाले म्हणून या याचा याची याच्या याना यानी येणार येत येथील येथे लाख व व्यकत सर्व सागित्ले सुरू
        हजार हा ही हे होणार होत होता होती होते
    """,
    "ms": """
        ada adalah air akan aku al anak apa atas atau bagi bahawa baik banyak baru bawah beberapa beliau bersama besar
        bila boleh bukan dalam dan dapat dari daripada datang dengan di dua hanya ia ialah ini itu jadi jalan jangan
        jika juga kalau kami kamu kawasan ke kecil kemudian kepada kerana kerja ketika kita kuala lagi lain lebih luar
        malam mana masa masalah masih mata memang mempunyai menjadi mereka oleh pada pernah pertama pun sama sangat satu
        saya sebab sebagai sebelum sekarang semua sendiri seorang seperti setiap siapa tak tanpa tapi telah tempat
        tetapi tiada tidak untuk wanita ya yang
    """,
    "my": """
        ကြသ ခဲ့သ စ်သ တစ် တယ် တွက် တွင် နက် နှင့် ပါသ ဖြင့် ဖြစ် မည် မရှိ မဟု များကို ယင်း ရန် ရှိသ လည်း လျှင် သည့် သည်
        ဟုတ် ဟူသော အတွ အန အဖြ
    """,
    "nl": """
        aan al alle alleen als andere ben bij daar dan dat de deze die dit doen door dus een eens eerste en er geen haar
        had heb hebben heeft heel hem het hier hij hoe hun iets ik in is je jij jullie kan kunnen maar maken me meer met
        mij mijn moet moeten na naar niet nog nu of om omdat onder ons onze ook op over te tegen tijdens toch toen tot
        twee u uit van veel voor waar waren was wat we weer wel werd wij wil worden wordt zal ze zich zij zijn zo zoals
        zou
    """,
    "no": """
        alle andre at av bare ble bli blir blitt bra da de deg dem den denne der dere det dette din disse du eller en
        enn er et etter for fra få før god gå ha hadde han har her hun hva hvis hvor hvordan hvorfor i ikke ingen inn ja
        jeg kan kom kunne man mange med meg mellom men mer min mot mye må noe noen nå når og også om opp oss over på
        samme seg selv si siden sin skal skulle slik som så tid til under ut uten ved vi vil ville være vært å
    """,
    "pl": """
        a aby albo ale bardzo bez bo by być był była było będzie ci co coś czy dla do dobrze gdy gdzie go i ich ja jak
        jako jednak jego jej jest jestem jeszcze jeśli już kiedy kto ktoś która które który którzy lub ma mają mam mi
        mnie może można na nas nawet nic nie niż no o od on oraz po pod przed przez przy również się sobie są ta tak
        takie także tam te tego tej ten teraz też to tu ty tych tylko tym u w więc więcej wszystko właśnie z za zawsze
        ze że żeby
    """,
    "pt": """
        a agora ainda ao aos apenas aqui as assim até bem bom coisa como da das de depois do dois dos e ela ele eles em
        entre era essa esse esta este está estão eu fazer foi foram grande hoje há isso já mais mas me mesmo meu minha
        muito na nada nas no nos nunca não o onde os ou outros para pela pelo pessoas pode por porque quando que quem
        quero se sem sempre ser seu seus sobre sou sua suas são só também te tem tenho ter todo todos tudo um uma vai
        ver você à é
    """,
    "ro": """
        a această acest acum ai al ale alte am ar are asta atunci au avea avut bine ca care ce cea ceea cel cele chiar
        cu cum când cât că către dacă dar de despre din dintre doar două după e ei el era este eu face fi fie foarte
        fost fără i iar in l la le lor lui mai mare mi mult multe mă n ne nici noi nu o pe pentru poate pot prin până s
        sa sau se si sunt să te timp toate tot un unde unei unui va vor vă îi îl în între
    """,
    "ru": """
        а без более больше будет бы был была были было быть в вас во вот все всего всех вы г где да даже для до его ее
        ему если есть еще же за и из или их к как когда которые который кто ли м меня мне может можно мы на надо нас не
        нет ни них но ну о об один он она они от очень по под после почему при просто с себя сегодня сейчас со так также
        там тебя теперь то того тоже только том ты у уже чем через что чтобы это этого этом этот я
    """,
    "sk": """
        a aby aj ak ako ale alebo ani až bez bol bola boli bolo bude by byť dnes do ešte ho i iba ich ja je jeho jej ju
        k každý kde keď ktorá ktoré ktorý len ma mali mať medzi mi možno mu má môže na nie niečo no nám nás o od po pod
        podľa potom pre pred preto pretože pri práve s sa si sme so som ste sú tak tam teda ten tento tiež to toho tomu
        toto tu tým u už v viac vo vám vás však všetko všetky z za zo či čo že
    """,
    "sl": """
        a bi bil bila bili bilo biti bo bodo bolj bomo boste brez da dan danes do dobro drugi dve eno ga in iz je jih jo
        k kaj kako kar ker ki kjer ko kot lahko le leto malo med mi mora mu na nad naj nam nas ne nekaj ni o ob od pa po
        pod poleg potem prav pred pri proti prvi res s saj samo se sem seveda si smo so sta ste ta tako te tega ti to
        tudi v vam vas vedno veliko vendar več vsak vse vsi z za zdaj zelo če že
    """,
    "sr": """
        а ако би била били било био бити бих вам вас већ ви врло га да до за и иако из или их када како као која које
        који којима коју кроз ли ме ми му на након нам нас наш наше не него неки нема нешто неће ни нисам нису није но о
        ова од он она они оно па по под прије с са само све сви свој своје се себе си смо сте су та тада тако тај те ти
        то томе ту у уз што ја је једна једно јер још њега његов њих ће ћемо
    """,
    "sv": """
        aldrig alla allt andra att av bara bli blir bra de dem den det detta dig din du där då efter eller en ett fick
        finns från få får för gå går gör göra ha hade han har helt hon hur här i in ingen inte ja jag ju kan kanske
        kommer lite man med men mer mig min mitt mot mycket många måste ni nu när någon något och också om oss på sig
        sin ska skulle som säger så ta till två under upp ut utan vad vara varför varit vi vid vill väl än är även över
    """,
    "th": """
        กว่า กับ การ ขอ ขึ้น คว ควา คือ คุณ งจา งนั้ จาก จึง ซึ่ง ดัง ด้ว ตาม ต่าง ต้อ ถึง ทั้ง ทุก ทําให้ นั้น บาง มาก
        มาร ยว ยัง ย่าง รถ ระห รับ รือ ลาย วกั วย วร วาม ว่าง สามา สําห หรั หรื หลา หว่า หาก อง อยู่ อย่า อาจ อีก เกี่ย
        เคย เช่น เท่านั้ เนื่อ เป็น เพราะ เพื่อ เมื่อ เอง แล้ว โดย
    """,
    "tr": """
        ama ancak ayrıca az bana bazı ben beni benim bile bir biraz biri birlikte biz bize bizim bu bunu bunun burada
        böyle bütün da daha de değil diye diğer doğru eden ediyor en etti eğer fakat gibi göre hem hep her herkes hiç
        hiçbir iki ile ilgili ilk ise iyi için iş işte kadar kendi kez ki lütfen mu mı nasıl ne neden o olan olarak oldu
        olduğu olduğunu olmak olsun olur onu onun sadece sana sen seni senin siz sizin sonra tam tek tüm ve veya ya yani
        yapılan yine yok zaten çok çünkü önce öyle üç şey şu
    """,
    "uk": """
        або але б багато без був буде будь була були було бути більше в вам вас вже ви вона вони все від він де для до
        дуже ж з за зараз зі й його коли лише м мене мені ми може можна на навіть нас не них ну ні нічого один ось от по
        при про просто проти під після років рік себе сьогодні та так також там те тепер ти то того тому треба тут
        тільки у хто це цей цього через чи чому ще що щоб я як яка який яких якщо які є і із їх її
    """,
    "ur": """
        آئی آئے آج افراد اور ایک تو تک تھی تھے دو دور دی دیتے دے رہی رہے ضرورت طرف طور علاقے لئے لوگ لوگوں لیں لے و والے
        پر پھر پہلی کئی کرتی کرتے کریں کرے کل کوئی کہ کہتے کہیں کی کیلئے کیوں کیے کے گئی گئے گی گے ہر ہو ہوئی ہوئے ہوا
        ہوتی ہوتے ہوں ہی ہیں ہے یہ
    """,
    "vi": """
        anh biết bạn bản bằng bị bộ cao cho chính chúng chỉ con các cách còn có cùng cũng cơ cả cần của do em hay hơn họ
        khi khác không là làm lên lại mà mình một mới ngoài ngày người nhiều nhà như nhưng nhất những nào này nên nó nói
        năm nước nếu phải phần qua ra rất sau sẽ số sự theo thì thích thấy thế thứ tin trong trên trước tên tôi tại tốt
        tới từ tự việc và vào vì về với ông ý đang đi điều đây đã đó được đến để ở
    """,
}
