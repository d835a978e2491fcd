-- The schema. A change of it is another file, with the next number (storage/sql/migrate.ts).
--
-- People, entities, totals, votes, sessions.
-- Every listing of an entity has an incarnation from one sequence; its totals row is born with the
-- catalogue row and dies with it, and the flusher only updates, so what is deleted stays deleted.

-- Lower case by which names are compared and sorted, letter by letter and whatever the locale of the database. Dotted
-- and dotless i are one, and so are both small forms of sigma. The lines of a text are one text to Postgres.
create function fold_case(given text) returns text language plpgsql immutable strict parallel safe as $$
declare
  capitals constant text :=
    'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİıĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶ'
    'ŸŹŻŽƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢ'
    'ȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϘϚϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊ'
    'ЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐ'
    'ӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤ'
    'ႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖ'
    'ᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲉᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖ'
    'ḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒ'
    'ỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫ'
    'ᾬᾭᾮᾯᾸᾹᾺΆᾼῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎ'
    'ⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒ'
    'ⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾ'
    'ꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟋꟌ꟎Ꟑ꟒꟔ꟖꟘꟚꟜꟵＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌'
    '𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌'
    '𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𐵐𐵑𐵒𐵓𐵔𐵕𐵖𐵗𐵘𐵙𐵚𐵛𐵜𐵝𐵞𐵟𐵠𐵡𐵢𐵣𐵤𐵥𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨'
    '𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𖺠𖺡𖺢𖺣𖺤𖺥𖺦𖺧𖺨𖺩𖺪𖺫𖺬𖺭𖺮𖺯𖺰𖺱𖺲𖺳𖺴𖺵𖺶𖺷𖺸𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉'
    '𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡';
  smalls constant text :=
    'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷ'
    'ÿźżžɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣ'
    'ȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗϙϛϝϟϡϣϥϧϩϫϭϯθϸϲϻͻͼͽѐёђѓєѕіїјљњ'
    'ћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑ'
    'ӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄ'
    'ⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦ'
    'ꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽᲊაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗ'
    'ḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồ'
    'ổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣ'
    'ᾤᾥᾦᾧᾰᾱὰάᾳὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾ'
    'ⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓ'
    'ⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿ'
    'ꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊɤꟍ꟏ꟑꟓꟕꟗꟙꟛƛꟶａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴'
    '𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳'
    '𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𐵰𐵱𐵲𐵳𐵴𐵵𐵶𐵷𐵸𐵹𐵺𐵻𐵼𐵽𐵾𐵿𐶀𐶁𐶂𐶃𐶄𐶅𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈'
    '𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𖺻𖺼𖺽𖺾𖺿𖻀𖻁𖻂𖻃𖻄𖻅𖻆𖻇𖻈𖻉𖻊𖻋𖻌𖻍𖻎𖻏𖻐𖻑𖻒𖻓𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫'
    '𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃';
  -- Those that the text has: to look for each of its letters in the whole table would take milliseconds.
  met text;
begin
  if octet_length(given) <> length(given) then
    met := (select string_agg(distinct letter, '')
      from unnest(string_to_array(regexp_replace(given, '[^' || capitals || ']+', '', 'g'), null)) as letter);
  end if;
  given := lower(given collate "C");
  return case when met <> '' then translate(given, met, translate(met, capitals, smalls)) else given end;
end $$;

create sequence incarnations as bigint;

-- Settings that must outlive a process and be the same on all nodes (secrets, generation high-water mark).
create table settings (
  name text primary key,
  value text not null
);

create table users (
  id text primary key,
  username text not null,
  display_name text not null,
  avatar text not null default '',
  bot boolean not null default false,
  flags text[] not null default '{}',
  extra_data jsonb not null default '{}',
  status text not null default 'offline',
  banned boolean not null default false,
  vote_banned boolean not null default false,
  created_at timestamptz not null default now()
);

create table totals (
  incarnation bigint primary key,
  kind text not null check (kind in ('bot', 'server', 'team', 'pack')),
  entity_id text not null,
  shard smallint not null,
  generation bigint not null default 0,
  version bigint not null default 0,
  clicks bigint not null default 0,
  unique_clicks bigint not null default 0,
  invite_clicks bigint not null default 0,
  upvotes bigint not null default 0,
  downvotes bigint not null default 0,
  votes bigint generated always as (upvotes - downvotes) stored,
  servers numeric(20, 0) not null default 0,
  shards numeric(20, 0) not null default 0,
  users numeric(20, 0) not null default 0,
  shard_list text not null default '',
  status text not null default '',
  last_stats_post_ms bigint not null default 0,
  uptime bigint not null default 0,
  total_uptime bigint not null default 0,
  uptime_checked_ms bigint not null default 0,
  released_before_ms bigint not null default 0,
  adjustment bigint not null default 0,
  flushed_at timestamptz,
  -- Numbers that the vote log has given out.
  votes_logged bigint not null default 0,
  -- How many enabled endpoints it has. A flush locks the row anyway, so it learns from it, exactly, whether there is
  -- anything to write.
  webhooks smallint not null default 0,
  unique (kind, entity_id)
) with (fillfactor = 70);
create index totals_votes on totals (kind, votes desc, incarnation);
create index totals_clicks on totals (kind, clicks desc, incarnation);

create table vanity (
  itag uuid primary key,
  code text not null unique,
  target_type text not null,
  target_id text not null,
  created_at timestamptz not null default now(),
  unique (target_type, target_id)
);

create table teams (
  id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  name text not null,
  short text not null default '',
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  vote_banned boolean not null default false,
  service text not null default 'api',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index teams_name on teams (fold_case(name));

create table team_members (
  team_id text not null references teams (id) on delete cascade,
  user_id text not null references users (id),
  itag uuid not null unique,
  permissions text[] not null default '{}',
  data_holder boolean not null default false,
  mentionable boolean not null default false,
  flags text[] not null default '{}',
  service text not null default 'api',
  created_at timestamptz not null default now(),
  primary key (team_id, user_id)
);
create index team_members_user on team_members (user_id);

create table bots (
  bot_id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  client_id text not null unique,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  type text not null default 'pending' check (type in ('pending', 'approved', 'certified', 'denied')),
  owner_id text references users (id),
  team_id text references teams (id),
  library text not null,
  prefix text not null,
  short text not null,
  long text not null,
  invite text not null,
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  captcha_opt_out boolean not null default false,
  vote_banned boolean not null default false,
  start_premium_period timestamptz,
  premium_period_hours integer not null default 0,
  approval_note text not null default '',
  cert_reason text not null default '',
  staff_note text,
  claimed_by text not null default '',
  last_claimed timestamptz,
  last_lookup timestamptz,
  listed_since timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((owner_id is null) <> (team_id is null))
);
-- Both columns in one direction, so that a position in a list is one comparison.
create index bots_listed on bots (created_at, bot_id) where type in ('approved', 'certified');
create index bots_certified on bots (created_at desc, bot_id) where type = 'certified';
create index bots_premium on bots (start_premium_period) where start_premium_period is not null;
create index bots_owner on bots (owner_id) where owner_id is not null;
create index bots_team on bots (team_id) where team_id is not null;

create table servers (
  server_id text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  itag uuid not null unique,
  vanity_ref uuid not null references vanity (itag),
  team_id text not null references teams (id),
  type text not null default 'pending' check (type in ('pending', 'approved', 'certified', 'denied')),
  state text not null default 'public' check (state in ('public', 'private', 'unlisted')),
  name text not null,
  avatar text not null default '',
  short text not null,
  long text not null default '',
  invite text not null default '',
  tags text[] not null default '{}',
  extra_links jsonb not null default '[]',
  nsfw boolean not null default false,
  vote_banned boolean not null default false,
  total_members bigint not null default 0,
  online_members bigint not null default 0,
  start_premium_period timestamptz,
  premium_period_hours integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index servers_listed on servers (created_at, server_id)
  where type in ('approved', 'certified') and state = 'public';
create index servers_team on servers (team_id);

create table packs (
  url text primary key,
  incarnation bigint not null unique references totals (incarnation),
  revision bigint not null default 1,
  owner_id text not null references users (id),
  name text not null,
  short text not null,
  tags text[] not null default '{}',
  bot_ids text[] not null default '{}',
  server_ids text[] not null default '{}',
  vote_banned boolean not null default false,
  created_at timestamptz not null default now()
);
create index packs_created on packs (created_at, url);
create index packs_owner on packs (owner_id);
create index packs_name on packs (fold_case(name));

-- An SQL that is restored older than the hot store begins a timeline: what is edited from then on outranks whatever the
-- hot store got of edits that are lost here. Revisions of rows themselves go on as they are.
create table lineage (
  one boolean primary key default true check (one),
  -- Added to the revision of every row.
  revisions bigint not null,
  -- Cursors of vote logs name the directory that gave them: an export that is imported elsewhere gets other numbers there.
  origin text not null default ''
);
insert into lineage (revisions, origin)
  values (0, substr(md5(random()::text || clock_timestamp()::text), 1, 8));

-- What counting depends on, one row per active listing, whatever its kind.
-- Before premium begins they have none, and the revision before that of their row; from then on both.
create view facts as
  select incarnation, revision + (select revisions from lineage)
      - case when start_premium_period > now() then 1 else 0 end as revision,
    type in ('approved', 'certified') as listed, vote_banned,
    case when start_premium_period <= now() then start_premium_period + make_interval(hours => premium_period_hours) end
      as premium_until,
    listed_since, start_premium_period as premium_from
  from bots
  union all
  select incarnation, revision + (select revisions from lineage)
      - case when start_premium_period > now() then 1 else 0 end,
    type in ('approved', 'certified') and state = 'public', vote_banned,
    case when start_premium_period <= now() then start_premium_period + make_interval(hours => premium_period_hours) end,
    null, start_premium_period
  from servers
  union all
  select incarnation, revision + (select revisions from lineage), true, vote_banned, null, null, null from teams
  union all
  select incarnation, revision + (select revisions from lineage), true, vote_banned, null, null, null from packs;

-- A token's secret is kept only as its SHA-256.
create table sessions (
  id uuid primary key,
  target_type text not null check (target_type in ('user', 'bot', 'server', 'team')),
  target_id text not null,
  type text not null check (type in ('login', 'api')),
  name text not null,
  perm_limits text[] not null default '{}',
  token_hash bytea not null unique,
  minted_by text not null default '',
  created_at timestamptz not null default now(),
  expiry timestamptz not null
);
create index sessions_target on sessions (target_type, target_id, created_at);
create index sessions_expiry on sessions (expiry);

-- One row per accepted vote, for ever. Voidness has two sources: the row itself, or a reset that applies to it.
create table votes (
  itag uuid not null,
  created_at timestamptz not null,
  incarnation bigint not null,
  target_type text not null,
  target_id text not null,
  author text not null,
  upvote boolean not null,
  vote_num smallint not null,
  immutable boolean not null default false,
  void boolean not null default false,
  void_reason text not null default '',
  voided_at timestamptz,
  credit_redeem uuid,
  -- Dense from 1 for each listing, given out in the transaction that writes the row; null where it was deleted.
  log_number bigint,
  -- The plan that made it void or, if it was void already, that rejected it.
  void_plan uuid,
  -- An operator's decision about the vote itself: it counts nowhere, not for its voter either. A reset or a redeem, which
  -- may make it void before or after that, only takes it from the totals.
  rejected boolean not null default false,
  -- What the link that led to it said about itself; null for nothing.
  ref text,
  primary key (itag, created_at)
) partition by range (created_at);
create table votes_default partition of votes default;
create index votes_target on votes (target_type, target_id, created_at desc);
create index votes_author on votes (author, target_type, target_id, created_at desc);
create index votes_log on votes (incarnation, log_number);
-- The few votes that outlive a reset.
create index votes_immutable on votes (incarnation) where immutable;
-- Operators list the votes of a time, whatever listing they are for. Votes come almost in the order of their
-- time, so a summary of each block range is enough; a vote costs nothing more.
create index votes_time on votes using brin (created_at) with (pages_per_range = 16);

-- Voids at once every vote in scope that is older and not immutable. Scope is 'all' or an incarnation.
create table vote_resets (
  scope text not null,
  at timestamptz not null,
  reason text not null check (reason in ('monthly_reset', 'deleted', 'operator')),
  created_at timestamptz not null default now(),
  primary key (scope, at)
);

-- Votes of the listing before this time are void by an operator's reset, even if something else made them void first;
-- immutable ones are not.
create function find_operator_reset(listing bigint) returns timestamptz language sql stable as $$
  select coalesce(max(at), '-infinity') from vote_resets
  where scope in ('all', listing::text) and reason <> 'monthly_reset'
$$;

-- How often somebody has voted on a listing, and on how many days (UTC) in a row, as of a time and, unless it is null, of
-- a number of the vote log. A vote counts unless an operator rejected it or its listing was deleted; a request counts once.
-- It looks at the newest 2,000 votes: truncated says that there may be more.
create function summarise_voter(listing bigint, kind text, id text, voter text, upto bigint, at timestamptz)
returns table (times bigint, streak bigint, longest bigint, streak_ends_at timestamptz, truncated boolean)
language sql stable as $$
  with looked as materialized (
    select created_at, not rejected and (immutable or created_at >= (select find_operator_reset(listing))) as counts
    from votes
    where author = voter and target_type = kind and target_id = id and incarnation = listing
      and (upto is null or log_number <= upto)
    order by votes.created_at desc limit 2000
  ), day as (
    select (created_at at time zone 'UTC')::date as day, count(distinct created_at) as requests
    from looked where counts group by 1
  ), run as (
    select max(day) as last_day, count(*) as days, sum(requests) as requests
    from (select day, requests, day - row_number() over (order by day)::integer as start from day) as numbered
    group by start
  ), newest as (
    select days, (last_day + 2)::timestamp at time zone 'UTC' as ends_at
    from run where last_day >= (at at time zone 'UTC')::date - 1 order by last_day desc limit 1
  )
  select coalesce((select sum(requests) from run), 0)::bigint, coalesce((select days from newest), 0),
    coalesce((select max(days) from run), 0), (select ends_at from newest), (select count(*) from looked) = 2000
$$;

-- What the ledger decided about past votes, delivered to the hot store until it confirms them.
create table adjustments (
  id bigint generated always as identity primary key,
  incarnation bigint not null,
  kind text not null,
  entity_id text not null,
  action text not null check (action in ('adjust', 'forget')),
  sequence bigint not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (incarnation, action, sequence)
);
create index adjustments_open on adjustments (id) where settled_at is null;

create table dead_letters (
  id bigint generated always as identity primary key,
  source text not null,
  body jsonb not null,
  reason text not null,
  created_at timestamptz not null default now(),
  -- A listing or vote that SQL refuses again and again has one row: the newest content, how often, since when.
  subject text unique,
  refusals bigint not null default 1,
  newest_at timestamptz not null default now()
);

create table generations (
  -- One of the parts into which entities are divided, as in the hot store (engine/ids.ts).
  shard smallint primary key check (shard between 0 and 15),
  generation bigint not null,
  -- How far the shard was flushed, so that a hot store that is older is known at start.
  flushed_generation bigint not null default 0,
  flushed_version bigint not null default 0
);

-- Heartbeats of the nodes, and the times when no node ran: uptime checks inside do not count.
create table fleet (
  node text primary key,
  seen_at timestamptz not null
);
create table outages (
  from_at timestamptz primary key,
  to_at timestamptz not null
);

-- Progress of operators' imports, so that an interrupted one goes on where it stopped.
create table imports (
  digest text primary key,
  lines_done bigint not null,
  updated_at timestamptz not null default now()
);

-- Vote credits, the shop, and the order of the long lists.

-- What votes are worth in hundredths, slab by slab: see engine/rules/credits.ts.
create table vote_credit_tiers (
  id text primary key,
  target_type text not null check (target_type in ('bot', 'server')),
  position integer not null check (position >= 0),
  votes bigint not null check (votes between 1 and 1000000000000),
  cents bigint not null check (cents between 0 and 1000000),
  created_at timestamptz not null default now()
);
create index vote_credit_tiers_order on vote_credit_tiers (target_type, position, id);

-- One row per redeem, for ever; its votes carry its id. `cycle` is the monthly reset in force when it was made,
-- so that slabs begin again with the month, whatever the clocks say. A later listing of the same id has none of them.
create table vote_redeems (
  id uuid primary key,
  incarnation bigint not null,
  target_type text not null,
  target_id text not null,
  cycle timestamptz not null,
  votes bigint not null check (votes > 0),
  credits bigint not null check (credits >= 0),
  redeemed_credits bigint not null default 0 check (redeemed_credits between 0 and credits),
  redeemed_at timestamptz,
  created_at timestamptz not null default now()
);
create index vote_redeems_listing on vote_redeems (incarnation, created_at desc, id);

-- The shop. Durations are hours, money is hundredths and may be fractional; people are ids that may be unknown.
create table shop_benefits (
  id text primary key,
  name text not null,
  description text not null default '',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

create table shop_items (
  id text primary key,
  name text not null,
  description text not null default '',
  cents numeric(20, 6) not null check (cents >= 0),
  duration_hours integer not null default 0 check (duration_hours >= 0),
  benefits text[] not null default '{}',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

create table shop_coupons (
  id text primary key,
  code text not null unique,
  cents numeric(20, 6) not null check (cents >= 0),
  public boolean not null default false,
  usable boolean not null default true,
  -- From its creation; 0 is for ever.
  expiry_hours integer not null default 0 check (expiry_hours >= 0),
  -- 0 is any number.
  max_uses integer not null default 0 check (max_uses >= 0),
  reuse_wait_hours integer not null default 0 check (reuse_wait_hours >= 0),
  allowed_users text[] not null default '{}',
  applicable_items text[] not null default '{}',
  requirements text[] not null default '{}',
  target_types text[] not null default '{}',
  created_by text,
  updated_by text,
  created_at timestamptz not null default now(),
  last_updated timestamptz not null default now()
);

-- The order of the long lists (storage/catalogue/list-order.ts). A list is cut into segments of some hundred
-- entries; a segment begins at its key and ends before the next one's. `list_changes` holds what came and went
-- since the segments were last counted: rows with keys of their own, so that writers never wait for each other.
create table list_heads (
  list text primary key,
  version bigint not null default 1
);
create table list_segments (
  list text not null,
  low_at timestamptz not null,
  low_id text not null,
  entries bigint not null,
  primary key (list, low_at, low_id)
);
create table list_changes (
  list text not null,
  at timestamptz not null,
  id text not null,
  change smallint not null
);
create index list_changes_list on list_changes (list);
insert into list_heads (list) values ('bots'), ('servers'), ('packs');
insert into list_segments (list, low_at, low_id, entries)
  select list, '-infinity', '', 0 from list_heads;

create function note_bot_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.type in ('approved', 'certified') then
    insert into list_changes values ('bots', old.created_at, old.bot_id, -1);
  end if;
  if tg_op <> 'DELETE' and new.type in ('approved', 'certified') then
    insert into list_changes values ('bots', new.created_at, new.bot_id, 1);
  end if;
  return null;
end $$;
create function note_server_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.type in ('approved', 'certified') and old.state = 'public' then
    insert into list_changes values ('servers', old.created_at, old.server_id, -1);
  end if;
  if tg_op <> 'DELETE' and new.type in ('approved', 'certified') and new.state = 'public' then
    insert into list_changes values ('servers', new.created_at, new.server_id, 1);
  end if;
  return null;
end $$;
create function note_pack_change() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into list_changes values ('packs', old.created_at, old.url, -1);
  end if;
  if tg_op <> 'DELETE' then
    insert into list_changes values ('packs', new.created_at, new.url, 1);
  end if;
  return null;
end $$;
create trigger bots_change after insert or delete or update of bot_id, created_at, type on bots
  for each row execute function note_bot_change();
create trigger servers_change after insert or delete or update of server_id, created_at, type, state on servers
  for each row execute function note_server_change();
create trigger packs_change after insert or delete or update of url, created_at on packs
  for each row execute function note_pack_change();

-- Codes and states of logins that have been used: each is good for one login, whichever nodes it is shown to.
-- Only SHA-256 sums are kept. Rows older than any code or state could be are purged by a job.

create table login_uses (
  kind text not null check (kind in ('code', 'state')),
  hash bytea not null,
  used_at timestamptz not null default now(),
  primary key (kind, hash)
);
create index login_uses_age on login_uses (used_at);

-- Positions that users can apply for, their applications, and posts of the blog.
-- The positions below are a beginning: from here on they are the operator's data.

create table app_positions (
  id text primary key,
  ordinal integer not null,
  name text not null,
  info text not null default '',
  tags text[] not null default '{}',
  questions jsonb not null default '[]',
  closed boolean not null default false,
  hidden boolean not null default false,
  cooldown_hours integer not null default 0 check (cooldown_hours >= 0),
  -- It came with the directory, and no operator has written it since: it gives way to those of an imported file.
  shipped boolean not null default false
);
create function position_is_written() returns trigger language plpgsql as $$
begin
  new.shipped := false;
  return new;
end $$;
create trigger position_written before update on app_positions
  for each row execute function position_is_written();

-- An application keeps the questions it answered, so that both stay readable when the position changes.
create table apps (
  app_id uuid primary key,
  user_id text not null,
  position text not null,
  questions jsonb not null,
  answers jsonb not null,
  state text not null default 'pending' check (state in ('pending', 'approved', 'denied')),
  review_feedback text not null default '',
  created_at timestamptz not null default now(),
  reviewed_at timestamptz
);
create unique index apps_pending on apps (user_id, position) where state = 'pending';
create index apps_user on apps (user_id, created_at desc, app_id);
create index apps_state on apps (state, created_at, app_id);

create table blog_posts (
  slug text primary key,
  title text not null,
  description text not null,
  content text not null,
  tags text[] not null default '{}',
  author_id text not null,
  draft boolean not null default false,
  created_at timestamptz not null default now()
);
create index blog_posts_published on blog_posts (created_at desc, slug) where not draft;

insert into app_positions (id, ordinal, name, info, tags, cooldown_hours, hidden, shipped, questions) values
('staff', 10, 'Staff',
  'Review new entries, answer people who need help and keep the place friendly.',
  '{Reviews,Support}', 48, false, true, '[
  {"id": "motivation", "question": "Why do you want to join the staff?", "short": false,
   "paragraph": "Tell us what draws you to this and what you hope to change.",
   "placeholder": "I want to join because …"},
  {"id": "experience", "question": "What have you done before that helps here?", "short": false,
   "paragraph": "Moderation, support, reviews, anything where you dealt with people and rules.",
   "placeholder": "For two years I have …"},
  {"id": "conflict", "question": "Somebody is angry because an entry was denied. What do you do?", "short": false,
   "paragraph": "There is no single right answer; tell us how you would think.",
   "placeholder": "First I would …"},
  {"id": "time", "question": "How many hours a week can you give, and in which time zone are you?", "short": true,
   "paragraph": "A rough number is enough.", "placeholder": "6 hours, UTC+1"}]'),
('qaqc', 20, 'Quality assurance',
  'Test what we build before everybody else does, and write down what breaks.',
  '{Testing,Quality}', 120, false, true, '[
  {"id": "motivation", "question": "Why do you want to test for us?", "short": false,
   "paragraph": "Tell us what you like about finding faults.", "placeholder": "I enjoy …"},
  {"id": "report", "question": "Describe a fault you found somewhere, as you would report it.", "short": false,
   "paragraph": "What you did, what you expected, what happened instead.",
   "placeholder": "1. Open … 2. Press … Expected: … Instead: …"},
  {"id": "devices", "question": "On which devices and browsers can you test?", "short": true,
   "paragraph": "A list is enough.", "placeholder": "Android phone, Firefox and Chrome on Linux"}]'),
('dev', 30, 'Developer',
  'Work on the software behind this directory.',
  '{Code}', 48, false, true, '[
  {"id": "experience", "question": "What have you built?", "short": false,
   "paragraph": "Languages, sizes, and which part was yours.", "placeholder": "I wrote …"},
  {"id": "proud", "question": "Which piece of your work are you proud of, and why?", "short": false,
   "paragraph": "What was hard about it, and how did you solve it?", "placeholder": "The hard part was …"},
  {"id": "links", "question": "Where can we see code of yours?", "short": true,
   "paragraph": "Addresses of public repositories; \"none\" is fine too.",
   "placeholder": "https://example.org/me/project"},
  {"id": "time", "question": "How many hours a week can you give?", "short": true,
   "paragraph": "A rough number is enough.", "placeholder": "5"}]'),
('partners', 40, 'Partner',
  'Join forces with us: for projects and communities with aims like ours.',
  '{Partnership}', 0, false, true, '[
  {"id": "project", "question": "What is your project?", "short": false,
   "paragraph": "What it does, for whom, and since when.", "placeholder": "We run …"},
  {"id": "idea", "question": "What should we do together?", "short": false,
   "paragraph": "What each side would do, and what each would gain.", "placeholder": "You could …, and we would …"},
  {"id": "link", "question": "Where can we find it?", "short": true,
   "paragraph": "An address or an invite.", "placeholder": "https://example.org"}]'),
('resubmit', 50, 'Resubmission',
  'Ask for another look at a bot that was denied, once the reasons are gone.',
  '{Bots}', 0, true, true, '[
  {"id": "bot_id", "question": "Which bot? Its id.", "short": true,
   "paragraph": "The bot must have been denied, and you must be allowed to resubmit it.",
   "placeholder": "815553000470478850"},
  {"id": "changes", "question": "What has changed since it was denied?", "short": false,
   "paragraph": "Go through the reasons you were given, one by one.", "placeholder": "The command that failed now …"}]'),
('banappeal', 60, 'Ban appeal',
  'For users who were banned and think that this should end.',
  '{Appeal}', 0, true, true, '[
  {"id": "reason", "question": "Why were you banned?", "short": false,
   "paragraph": "In your own words, as you understand it.", "placeholder": "I was banned because …"},
  {"id": "appeal", "question": "Why should the ban be lifted?", "short": false,
   "paragraph": "What has changed, and what will be different from now on.", "placeholder": "I have since …"}]'),
('certification', 70, 'Certification',
  'A mark for bots that are well made, well kept and well used.',
  '{Bots}', 0, true, true, '[
  {"id": "bot_id", "question": "Which bot? Its id.", "short": true,
   "paragraph": "It must be approved, be in 100 servers or more and have had 30 different visitors or more.",
   "placeholder": "815553000470478850"},
  {"id": "quality", "question": "What makes this bot stand out?", "short": false,
   "paragraph": "What it does better than others, and how you keep it running.",
   "placeholder": "It is the only one that …"},
  {"id": "privacy", "question": "Which data does the bot keep, and for how long?", "short": false,
   "paragraph": "Say it as you would to somebody who uses it.", "placeholder": "It keeps …"}]');

-- Reminders, browsers that get push messages, messages on their way, and the runs of the fleet's jobs.
-- Times that are compared with votes are the nodes' own, in milliseconds, as everywhere in counting.

-- Goes with its listing. `due_at_ms` is when to look next, null when nothing is awaited: set by the flush that
-- brings a vote, moved to the end of the wait by a node that looks too early. `voted_at_ms` is the newest vote known
-- of here, so that a repeated flush makes nothing due twice.
create table reminders (
  incarnation bigint not null references totals (incarnation) on delete cascade,
  user_id text not null references users (id),
  created_at timestamptz not null,
  voted_at_ms bigint not null default 0,
  due_at_ms bigint,
  last_acked timestamptz,
  primary key (incarnation, user_id)
);
create index reminders_user on reminders (user_id, created_at);
create index reminders_due on reminders (due_at_ms) where due_at_ms is not null;

-- One row per browser: an endpoint belongs to the user who subscribed with it last.
create table push_subscriptions (
  id uuid primary key,
  user_id text not null references users (id),
  endpoint text not null unique,
  auth text not null,
  p256dh text not null,
  browser_info jsonb not null,
  created_at timestamptz not null
);
create index push_subscriptions_user on push_subscriptions (user_id, created_at);

-- The outbox of push. The node that takes a message moves `next_at_ms` ahead first, which is its lease.
create table push_messages (
  id bigint generated always as identity primary key,
  subscription_id uuid not null references push_subscriptions (id) on delete cascade,
  -- Of the reminder; null for a message about a review.
  incarnation bigint,
  user_id text not null,
  attempts integer not null default 0,
  next_at_ms bigint not null,
  -- Of a message about a review: the listing.
  reviewed bigint references totals (incarnation) on delete cascade,
  review_type text,
  review_note text,
  check (num_nonnulls(incarnation, reviewed) = 1),
  unique (subscription_id, incarnation),
  foreign key (incarnation, user_id) references reminders (incarnation, user_id) on delete cascade
);
create index push_messages_next on push_messages (next_at_ms);
create index push_messages_reminder on push_messages (incarnation, user_id);
create index push_messages_reviewed on push_messages (reviewed) where reviewed is not null;

-- One row per job and due time. The node that inserts it runs it; unfinished, it may be taken over when
-- the lease has passed. Leases are by the database's clock.
create table job_runs (
  name text not null,
  due_at timestamptz not null,
  node text not null,
  attempts integer not null default 1,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  finished_at timestamptz,
  error text not null default '',
  primary key (name, due_at)
);

-- What operators did, and words that are refused as vanity codes.

-- Written before the operation and completed after it: `asked` for ever means that its end is unknown.
create table audit (
  id bigint generated always as identity primary key,
  asked_at timestamptz not null default now(),
  operation text not null,
  target text not null default '',
  details jsonb not null default '{}',
  outcome text not null default 'asked',
  ended_at timestamptz,
  operator text not null default ''
);

create table reserved_words (
  word text primary key,
  created_at timestamptz not null default now()
);

-- The order of an entity's voters (storage/catalogue/voter-order.ts), for entities with many votes whose voters
-- were requested: one row per voter at the position of the voter's newest valid vote, cut into counted segments like the long
-- lists. Nothing here is the truth: an order can be dropped at any time, and is made again from the votes.

-- From when this row is committed, votes that come or change are noted. `recounts` 0 means not made yet.
create table voter_orders (
  incarnation bigint primary key,
  recounts bigint not null default 0,
  read_at timestamptz not null default now()
);
create table voters (
  incarnation bigint not null,
  author text not null,
  at timestamptz not null,
  itag uuid not null,
  primary key (incarnation, author)
);
create index voters_place on voters (incarnation, at, itag) include (author);
create table voter_segments (
  incarnation bigint not null,
  low_at timestamptz not null,
  low_itag uuid not null,
  entries bigint not null,
  primary key (incarnation, low_at, low_itag)
);

-- Authors whose place may have changed since the last recount; the empty author stands for all of them.
create table voter_changes (
  incarnation bigint not null,
  author text not null,
  noted_at timestamptz not null default clock_timestamp()
);
create index voter_changes_order on voter_changes (incarnation, noted_at);

-- Once per statement, and nothing but one look at an empty or small table where no order is kept.
create function note_voters() returns trigger language plpgsql as $$
begin
  insert into voter_changes (incarnation, author)
    select distinct written.incarnation, written.author
    from written join voter_orders on voter_orders.incarnation = written.incarnation;
  return null;
end $$;
create trigger votes_inserted after insert on votes referencing new table as written
  for each statement execute function note_voters();
create trigger votes_updated after update on votes referencing new table as written
  for each statement execute function note_voters();

create function note_all_voters() returns trigger language plpgsql as $$
begin
  insert into voter_changes (incarnation, author)
    select incarnation, '' from voter_orders
    where new.scope = 'all' or incarnation::text = new.scope;
  return null;
end $$;
create trigger vote_resets_inserted after insert on vote_resets
  for each row execute function note_all_voters();

-- Which listings' facts were edited, until the hot store has them.

-- Written in the edit's own transaction, by triggers: no edit can forget it. A newer edit takes the older one's place.
-- `at` is the start of premium once the facts until then are sent.
create table edited (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  revision bigint not null,
  at timestamptz not null default now()
);
create index edited_at on edited (at, incarnation);

create function note_edit() returns trigger language plpgsql as $$
begin
  insert into edited (incarnation, revision) values (new.incarnation, new.revision)
  on conflict (incarnation) do update set revision = excluded.revision, at = excluded.at;
  return null;
end $$;

create trigger bots_edited after update on bots for each row
  when ((old.type, old.vote_banned, old.start_premium_period, old.premium_period_hours, old.listed_since)
    is distinct from (new.type, new.vote_banned, new.start_premium_period, new.premium_period_hours, new.listed_since))
  execute function note_edit();
create trigger servers_edited after update on servers for each row
  when ((old.type, old.state, old.vote_banned, old.start_premium_period, old.premium_period_hours)
    is distinct from (new.type, new.state, new.vote_banned, new.start_premium_period, new.premium_period_hours))
  execute function note_edit();
-- A listing whose premium begins later is sent again then.
create trigger bots_added after insert on bots for each row
  when (new.start_premium_period > now()) execute function note_edit();
create trigger servers_added after insert on servers for each row
  when (new.start_premium_period > now()) execute function note_edit();
create trigger teams_edited after update on teams for each row
  when (old.vote_banned is distinct from new.vote_banned) execute function note_edit();
create trigger packs_edited after update on packs for each row
  when (old.vote_banned is distinct from new.vote_banned) execute function note_edit();

-- Names by their first letters, for the operator's searches.

create index users_search on users ((fold_case(username) collate "C"), id);
create index servers_search on servers ((fold_case(name) collate "C"), server_id);
create index teams_search on teams ((fold_case(name) collate "C"), id);
create index packs_search on packs ((fold_case(name) collate "C"), url);

-- Webhooks: endpoints, and one delivery per event and endpoint. Times in milliseconds are the nodes' own.

create table webhook_endpoints (
  id uuid primary key,
  incarnation bigint not null references totals (incarnation) on delete cascade,
  name text not null,
  url text not null,
  format text not null check (format in ('standard', 'topgg', 'topgg_v1', 'discord')),
  events text[] not null,
  up_only boolean not null default false,
  -- Sealed, see storage/catalogue/webhooks/secrets.ts. The former one signs, too, until `former_until_ms`.
  secret bytea not null,
  secret_hint text not null,
  former_secret bytea,
  former_until_ms bigint not null default 0,
  enabled boolean not null default true,
  disabled_reason text not null default '',
  -- Grows with each edit, so that a sender never writes health over a newer decision of the owner.
  revision integer not null default 1,
  -- Deliveries in state 0.
  pending bigint not null default 0,
  -- Attempts in a row without a success, and since when.
  failures integer not null default 0,
  failing_since_ms bigint not null default 0,
  wait_until_ms bigint not null default 0,
  -- After a success that ended a failure, deliveries are sent slowly until then.
  slow_until_ms bigint not null default 0,
  -- When a sender should look next, null for never. `signal` grows whenever there is new work, so that a sender
  -- that found none cannot overwrite a newer due time.
  due_at_ms bigint,
  signal bigint not null default 0,
  lease_until_ms bigint not null default 0,
  last_delivered_at timestamptz,
  created_at timestamptz not null default now(),
  created_by text not null,
  -- The lease of a webhook is renewed while its sender lives, so its end does not name it: a number does. The end is by
  -- SQL's clock.
  lease_number bigint not null default 0,
  -- What owners see in the list.
  last_attempt jsonb,
  -- What receivers of the format topgg compare with `Authorization`, sealed; null for the secret.
  authorization_text bytea,
  scope text not null default 'listing' check (scope in ('listing', 'owned')),
  -- Its deliveries take their position in the queue from the sequence, because they are about several listings or not
  -- about votes; log_number of others is the number of the vote. It never becomes false again.
  sequenced boolean not null default false
);
create index webhook_endpoints_listing on webhook_endpoints (incarnation);
create index webhook_endpoints_due on webhook_endpoints (due_at_ms) where due_at_ms is not null;
create index webhook_endpoints_backlog on webhook_endpoints (pending) where pending > 0;
create index webhook_endpoints_owned on webhook_endpoints (incarnation) where scope = 'owned' and enabled;

-- States: 0 pending, 1 delivered, 2 expired. What is sent is built from the vote and not stored; only after a failed
-- attempt `body` keeps it, so that every repeat sends the same bytes. Rows of a deleted endpoint are purged in steps.
create table webhook_deliveries (
  endpoint_id uuid not null,
  -- The number of the event's first vote.
  log_number bigint not null,
  -- See storage/ledger/webhook-deliveries.ts.
  kind smallint not null,
  state smallint not null default 0,
  -- Votes of the request.
  weight smallint not null,
  -- The listing's total when the flush wrote this row.
  votes bigint not null,
  tries smallint not null default 0,
  next_at_ms bigint not null default 0,
  -- To be sent once more, whatever its state is.
  replay boolean not null default false,
  body text,
  attempts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  -- What cannot be built from a vote: set for the kind 2, vote.voided, whose log_number is the highest number of the
  -- votes that the decision made void, and for events that are not about votes.
  details jsonb,
  -- Of a sequenced delivery: the listing that it is about, and the number of the vote; null for an event without a vote.
  subject bigint,
  subject_number bigint,
  -- What the voter had done by the vote, as its first attempt said: a replay says the same.
  voter jsonb,
  primary key (endpoint_id, log_number, kind)
);
create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, log_number) where state = 0;
create index webhook_deliveries_replay on webhook_deliveries (endpoint_id, log_number) where replay;
create unique index webhook_deliveries_subject on webhook_deliveries (endpoint_id, subject, subject_number, kind)
  where subject is not null;
create index webhook_deliveries_age on webhook_deliveries using brin (created_at);

-- Earlier values of the totals of every listing. A time (`at`) is in minutes since 1970, UTC. A row holds the values at
-- that time, and exists only where one of them differs from the row before. Values above the range are its maximum.

create table history_state (
  one boolean primary key default true check (one),
  -- The newest sample that has begun, and the last listing that it has looked at.
  at integer not null default 0,
  position bigint not null default 0,
  -- The newest sample that has looked at all listings.
  whole_at integer not null default 0,
  -- The newest hour and day that are rolled up, by their ends.
  hour integer not null default 0,
  day integer not null default 0
);
insert into history_state default values;

-- The values of each listing at its last sample, and when one of them last changed.
create table history_heads (
  incarnation bigint primary key,
  servers bigint not null,
  users bigint not null,
  shards bigint not null,
  clicks bigint not null,
  unique_clicks bigint not null,
  invite_clicks bigint not null,
  votes bigint not null,
  votes_logged bigint not null,
  at integer not null,
  -- The first letter of the presence.
  status "char" not null
) with (fillfactor = 80);

-- Partitions are created and dropped by storage/history/partitions.ts.
create table history_fine (
  incarnation bigint not null,
  servers bigint not null,
  users bigint not null,
  shards bigint not null,
  clicks bigint not null,
  unique_clicks bigint not null,
  invite_clicks bigint not null,
  votes bigint not null,
  votes_logged bigint not null,
  at integer not null,
  status "char" not null,
  primary key (incarnation, at)
) partition by range (at);
create table history_hours (like history_fine including all) partition by range (at);
create table history_days (like history_fine including all) partition by range (at);

-- Times that have values: each whole sample, and the end of each hour and day with a whole sample. All others are holes.
create table history_times (
  level text not null check (level in ('fine', 'hours', 'days')),
  at integer not null,
  primary key (level, at)
);

-- Deleted listings whose history is still to be deleted.
create table history_deleted (
  incarnation bigint primary key
);

-- The votes of a listing that were cast in a month (its first day, UTC), whatever became of them later.
create table vote_months (
  incarnation bigint not null,
  month date not null,
  kind text not null,
  upvotes bigint not null,
  downvotes bigint not null,
  voters bigint not null,
  -- Of these votes: redeemed, and voided by an operator.
  redeemed bigint not null,
  voided bigint not null,
  -- Upvotes minus downvotes without those that an operator voided, and the place by it; null until it is known.
  net bigint not null,
  rank bigint,
  primary key (incarnation, month)
);
create index vote_months_order on vote_months (month, kind, net desc, incarnation);

-- Months that are archived. `final` when no late vote can follow.
create table vote_months_archived (
  month date primary key,
  final boolean not null
);

-- Leaderboards: what they remember of each listing, and their newest editions. All of it can be computed again from
-- counts and votes, within the limits that docs/behaviour.md states; exports leave it out.

create table board_listings (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  -- The counts when the last run looked at them.
  unique_clicks bigint not null,
  upvotes bigint not null,
  downvotes bigint not null,
  votes_logged bigint not null,
  -- Binary logarithm of the sum of weight × 2^(time of the event ÷ 12 h), null before the first event. The order of
  -- listings without new events never changes, so only the others are written.
  heat double precision,
  -- Values at the first look of a UTC day: of `days_at` (days since 1970), of the day before it, and so on, at most
  -- eight. A day without a change is not written: its value is the newest one.
  days_at integer not null,
  clicks_days bigint[] not null,
  servers_days double precision[] not null,
  -- Valid votes cast before the monthly reset `past_until`: all but immutable ones, those of the last period, and those
  -- of the last calendar month with the immutable ones.
  votes_before bigint not null default 0,
  votes_period bigint not null default 0,
  votes_month bigint not null default 0,
  past_until timestamptz not null default '-infinity'
) with (fillfactor = 70);

-- The first places of each board. `edition` is the due time of its run, in ms; readers load what has another one.
create table board_editions (
  board text not null,
  kind text not null,
  edition bigint not null,
  made_at timestamptz not null default now(),
  incarnations bigint[] not null,
  scores double precision[] not null,
  ratios double precision[] not null,
  -- The last edition of the UTC day before `day`, for the change of a place.
  day integer not null,
  former bigint[] not null default '{}',
  primary key (board, kind)
);

-- How many listings each board has, and how many of them are above some scores: about 1,000 in descending order.
create table board_counts (
  board text not null,
  kind text not null,
  edition bigint not null,
  listings bigint not null,
  scores double precision[] not null,
  above bigint[] not null,
  primary key (board, kind)
);

-- Which listings are listed, without reading their wide rows.
create index bots_ranked on bots (incarnation) include (listed_since, created_at)
  where type in ('approved', 'certified');
create index servers_ranked on servers (incarnation) include (created_at)
  where type in ('approved', 'certified') and state = 'public';

-- Which cached profiles and sessions have changed. Triggers write a notice in the transaction of the change, so no edit
-- or import can forget it, and no process can die between the two. Every node reads the notices that its
-- last reading could not see, by the snapshot of that reading: numbers would not do, because they commit out of order.

create table notices (
  xid xid8 not null default pg_current_xact_id(),
  -- A bot, server or team by its id; a session by the hash of its token, in hexadecimal.
  kind text not null check (kind in ('bot', 'server', 'team', 'session')),
  id text not null,
  at timestamptz not null default now(),
  primary key (xid, kind, id)
);
create index notices_at on notices (at);

create function notice_bot() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('bot', old.bot_id) on conflict do nothing;
  -- A ban of its owner bans a bot's sessions.
  if tg_op = 'UPDATE' then
    if old.owner_id is not distinct from new.owner_id then return null; end if;
  end if;
  insert into notices (kind, id)
    select 'session', encode(token_hash, 'hex') from sessions
    where target_type = 'bot' and target_id = old.bot_id
    on conflict do nothing;
  return null;
end $$;
create trigger bots_noticed after update or delete on bots for each row execute function notice_bot();

create function notice_server() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('server', old.server_id) on conflict do nothing;
  return null;
end $$;
create trigger servers_noticed after update or delete on servers for each row execute function notice_server();

create function notice_team() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('team', old.id) on conflict do nothing;
  return null;
end $$;
create trigger teams_noticed after update or delete on teams for each row execute function notice_team();

create function notice_vanity() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) select old.target_type, old.target_id
    where old.target_type in ('bot', 'server', 'team') on conflict do nothing;
  return null;
end $$;
create trigger vanity_noticed after update or delete on vanity for each row execute function notice_vanity();

create function notice_session() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id) values ('session', encode(old.token_hash, 'hex')) on conflict do nothing;
  return null;
end $$;
-- No node uses an expired session, and thousands of them are deleted at once.
create trigger sessions_noticed after update or delete on sessions for each row
  when (old.expiry > now()) execute function notice_session();

-- Profiles contain the person that a bot is and its owner.
create function notice_people() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id)
    select 'bot', bot_id from bots join written on written.id = bots.bot_id
    on conflict do nothing;
  return null;
end $$;
create trigger users_added_noticed after insert on users referencing new table as written
  for each statement execute function notice_people();

create function notice_person() returns trigger language plpgsql as $$
begin
  insert into notices (kind, id)
    select 'bot', bot_id from bots where bot_id = new.id or owner_id = new.id
    on conflict do nothing;
  if (old.banned, old.vote_banned) is distinct from (new.banned, new.vote_banned) then
    insert into notices (kind, id)
      select 'session', encode(token_hash, 'hex') from sessions
      where (target_type = 'user' and target_id = new.id) or minted_by = new.id
        or (target_type = 'bot' and target_id in (select bot_id from bots where owner_id = new.id))
      on conflict do nothing;
  end if;
  return null;
end $$;
create trigger users_noticed after update on users for each row
  when (old.* is distinct from new.*) execute function notice_person();

-- Webhooks of a team for all that it owns, and events that are not votes.

-- Above all numbers of votes, so that places of an endpoint that becomes sequenced go on upwards.
create sequence webhook_places as bigint start 10000000000000;

-- The enabled endpoints of a listing: its own, and those of its team for all that it owns.
create function webhook_listeners(listing bigint) returns setof webhook_endpoints language sql stable as $$
  select * from webhook_endpoints where incarnation = listing and enabled
  union all
  select owned.* from (
    select team_id from bots where bots.incarnation = listing
    union all select team_id from servers where servers.incarnation = listing
  ) as owner
  join totals as team on team.kind = 'team' and team.entity_id = owner.team_id
  join webhook_endpoints as owned on owned.incarnation = team.incarnation and scope = 'owned' and enabled
$$;

-- Writes a delivery per listener that wants an event which is not about numbered votes; returns how many. The kind is that of
-- storage/ledger/webhook-deliveries.ts. Endpoints are locked in the order of their ids, as by a flush.
create function write_listing_event(listing bigint, event_kind smallint, event text, details jsonb) returns bigint language sql as $$
  with delivery as (
    insert into webhook_deliveries (endpoint_id, log_number, subject, kind, weight, votes, details)
    select endpoint.id, nextval('webhook_places'), listing, event_kind, 1, totals.votes,
      jsonb_build_object('id', gen_random_uuid()) || write_listing_event.details
    from totals join lateral webhook_listeners(totals.incarnation) as endpoint on true
    where totals.incarnation = listing and event = any (endpoint.events) and endpoint.sequenced
    returning endpoint_id
  ), locked as (
    select id from webhook_endpoints where id in (select endpoint_id from delivery) order by id for no key update
  ), signalled as (
    update webhook_endpoints as endpoint
    set pending = pending + 1, signal = signal + 1, due_at_ms = least(due_at_ms, wait_until_ms)
    from locked where endpoint.id = locked.id
    returning 1
  )
  select count(*) from signalled
$$;

-- Each edit of a profile is an event, written in the transaction of the edit.
create function announce_edit() returns trigger language plpgsql as $$
declare
  fields jsonb;
begin
  select jsonb_agg(key order by key) into fields
  from jsonb_each(to_jsonb(new)) where value is distinct from to_jsonb(old) -> key
    and key in ('name', 'avatar', 'short', 'long', 'invite', 'library', 'prefix', 'tags', 'extra_links', 'nsfw', 'type', 'state',
      'team_id', 'owner_id', 'captcha_opt_out');
  if fields is not null then
    perform write_listing_event(new.incarnation, 4::smallint, 'listing.updated', jsonb_build_object('fields', fields));
  end if;
  return null;
end $$;
create trigger bots_announced after update on bots for each row
  when (old.* is distinct from new.*) execute function announce_edit();
create trigger servers_announced after update on servers for each row
  when (old.* is distinct from new.*) execute function announce_edit();
create trigger teams_announced after update on teams for each row
  when (old.* is distinct from new.*) execute function announce_edit();

-- What creations with an Idempotency-Key led to, for a day: written in their transaction. `scope` is the SHA-256 of the caller,
-- the operation and the key, `fingerprint` that of the request.

create table idempotency_keys (
  scope bytea primary key,
  caller text not null,
  fingerprint bytea not null,
  result jsonb not null,
  created_at timestamptz not null default now()
);

create index idempotency_keys_callers on idempotency_keys (caller, created_at);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Which hot store this database belongs to (storage/hot-owner.ts). No row: it was never used.

create table hot_store (
  single boolean primary key default true check (single),
  kind text not null check (kind in ('redis', 'lmdb')),
  -- Of an embedded one, also in DATA_DIR/hot-id; '' for Redis.
  identity text not null,
  -- The node that claimed it last, by its name in the table fleet, and when; of this process alone.
  node text not null,
  holder text not null,
  claimed_at timestamptz not null default now()
);

-- What the public search looks at: a row for each listing that is listed. Triggers write it in the transaction of the
-- edit.

create table search_entries (
  incarnation bigint primary key references totals (incarnation) on delete cascade,
  kind text not null,
  -- The name in lower case, by which a search sorts.
  name text not null,
  -- Names, short text and tags as `fold_words` makes them, each word after a blank.
  words text not null,
  tags text[] not null,
  created_at timestamptz not null
);

-- What a search compares: compatible forms of a letter are one, marks above and below Latin, Greek and Cyrillic letters
-- are left out, and so are the vowel signs of Arabic and Hebrew, and what is not seen (joiners, variants of emoji); ß is ss.
create function fold_words(given text) returns text language plpgsql immutable strict parallel safe as $$
begin
  if octet_length(given) = length(given) then
    return lower(given collate "C");
  end if;
  return replace(fold_case(normalize(regexp_replace(normalize(given, NFKD),
    '([A-Za-z\u00C6-\u02AF\u0370-\u052F\u1C80-\u1C8F\u1D00-\u1DBF\u1E00-\u1FFF\u2C60-\u2C7F\uA640-\uA69F\uA720-\uA7FF])'
    '[\u0300-\u036F]+|[\u00AD\u0591-\u05BD\u05BF-\u05C7\u0640\u064B-\u0652\u0670\u180E\u200B-\u200F\u202A-\u202E\u2060-\u206F'
    '\uFE00-\uFE0F\uFEFF]+', '\1', 'g'), NFC)), 'ß', 'ss');
end $$;

-- Each sign of a script without blanks together with the next one, as words: so a word of one or two signs is found
-- wherever it stands.
create function list_signs(folded text) returns text language plpgsql immutable strict parallel safe as $$
declare
  signs constant text := '^[\u0E00-\u0FFF\u1000-\u109F\u1780-\u17FF\u2E80-\u2FDF\u3005-\u312F\u31F0-\u31FF\u3400-\u4DBF'
    '\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0003FFFF]';
begin
  if folded !~ substr(signs, 2) then
    return '';
  end if;
  return (select coalesce(string_agg(' ' || sign || case when next ~ signs then next else '' end, '' order by place), '')
    from (select sign, place, lead(sign) over (order by place) as next
      from unnest(string_to_array(folded, null)) with ordinality as given (sign, place)) as paired
    where sign ~ signs);
end $$;

-- Hashes of the first letters of each word with one left out: words that are one letter apart have one in common. Only
-- what is in `pg_catalog` may be called: an index depends on it. It costs far more than it seems, so that no table is read.
create function list_near(folded text) returns int[] language sql immutable strict parallel safe cost 10000 as $$
  select array_agg(distinct hashtext(overlay(start placing '' from place for 1)))
  from (select distinct left(word, 7) as start
    from regexp_split_to_table(folded, '[ -/:-@[-`{-~\u2000-\u206F\u3000-\u303F]+') as word
    where length(word) >= 4 and word !~ '^[0-9]+$') as starts,
    generate_series(1, length(start) + 1) as place
$$;

-- The row of a listing, none where it is not listed.
create function describe_search(wanted bigint) returns setof search_entries language sql stable as $$
  select listed.incarnation, kind, fold_case(left(name, 100)) collate "C",
    folded || list_signs(folded), tags, created_at
  from (
    select incarnation, 'bot' as kind, coalesce(users.display_name, bot_id) as name, users.username, short, tags,
      bots.created_at
    from bots left join users on users.id = bot_id
    where incarnation = wanted and type in ('approved', 'certified')
    union all
    select incarnation, 'server', name, null, short, tags, created_at from servers
    where incarnation = wanted and type in ('approved', 'certified') and state = 'public'
    union all
    select incarnation, 'team', name, null, short, tags, created_at from teams where incarnation = wanted
    union all
    select incarnation, 'pack', name, null, short, tags, created_at from packs where incarnation = wanted
  ) as listed cross join lateral fold_words(
    ' ' || concat_ws(' ', name, username, short, array_to_string(tags, ' '))) as folded
$$;

create function note_search(wanted bigint) returns void language plpgsql as $$
begin
  insert into search_entries select * from describe_search(wanted)
  on conflict (incarnation) do update set name = excluded.name, words = excluded.words, tags = excluded.tags;
  if not found then
    delete from search_entries where incarnation = wanted;
  end if;
end $$;

create function note_search_listing() returns trigger language plpgsql as $$
begin
  perform note_search(new.incarnation);
  return null;
end $$;
create trigger bots_searched after insert or update of type, short, tags, incarnation on bots
  for each row execute function note_search_listing();
create trigger servers_searched after insert or update of type, state, name, short, tags, incarnation on servers
  for each row execute function note_search_listing();
create trigger teams_searched after insert or update of name, short, tags, incarnation on teams
  for each row execute function note_search_listing();
create trigger packs_searched after insert or update of name, short, tags, incarnation on packs
  for each row execute function note_search_listing();

-- A bot has the name of its account, which may come after the bot.
create function note_search_person() returns trigger language plpgsql as $$
begin
  perform note_search(incarnation) from bots where bot_id = new.id;
  return null;
end $$;
create trigger users_added_searched after insert on users for each row when (new.bot)
  execute function note_search_person();
create trigger users_searched after update of username, display_name on users for each row
  when ((old.username, old.display_name) is distinct from (new.username, new.display_name))
  execute function note_search_person();

create index search_new on search_entries (kind, created_at desc, incarnation);
create index search_names on search_entries (kind, name collate "C", incarnation);
create index search_near on search_entries using gin (list_near(words));

-- Without the extension, or the right to create it, a node starts and its search says that there is none, until
-- storage/sql/search-index.ts could build the index.
do $$
begin
  create extension if not exists pg_trgm;
  create index search_words on search_entries using gin (words gin_trgm_ops, tags);
exception when others then
  raise notice 'no search: %', sqlerrm;
end $$;

-- Votes that operators make void by a query. A plan holds the votes that the query found; they are voided in pages, and
-- count again in pages if the plan is undone.

create table void_plans (
  id uuid primary key,
  state text not null check (state in ('planning', 'planned', 'refused', 'voiding', 'voided', 'undoing', 'undone')),
  -- The request, as it came, and who sent it.
  query jsonb not null,
  reason text not null,
  operator text not null,
  -- Whether its voters may vote again at once; else they wait as if their votes still counted.
  releases boolean not null,
  -- How many votes it makes void, and how many it holds: those that a reset or a redeem has made void are only rejected.
  votes bigint not null default 0,
  held bigint not null default 0,
  -- What operators are shown before they confirm it.
  preview jsonb not null default '{}',
  -- The last of its votes that the present step has dealt with, and what it left as it was, counted by reason.
  position bigint not null default 0,
  left_out jsonb not null default '{}',
  voided bigint not null default 0,
  restored bigint not null default 0,
  created_at timestamptz not null default now(),
  -- When it was confirmed.
  started_at timestamptz
);

-- Deleted a month after the plan was confirmed: then it cannot be undone.
create table void_plan_votes (
  plan uuid not null,
  position bigint not null,
  incarnation bigint not null,
  itag uuid not null,
  created_at timestamptz not null,
  -- Why the newest step left the vote as it was.
  skipped text,
  primary key (plan, position)
);
create index void_plan_votes_skipped on void_plan_votes (plan, position) where skipped is not null;

-- Whether a vote is void, for every reader alike: by itself, or by the first reset that came after it and applies.
-- A reset spares immutable votes, except the one that says that the listing was deleted (it lies at infinity).
create view vote_rows as
  select votes.itag, votes.created_at, votes.incarnation, votes.target_type, votes.target_id, votes.author,
    votes.upvote, votes.vote_num, votes.immutable, votes.credit_redeem,
    votes.void or reset.at is not null as void,
    case when votes.void then votes.void_reason else coalesce(reset.reason, '') end as void_reason,
    case when votes.void then votes.voided_at when reset.at = 'infinity' then reset.created_at else reset.at end
      as voided_at,
    votes.log_number, votes.ref, votes.void_plan, reset.reason as reset_reason,
    -- Whether it counts nowhere, whatever else made it void.
    votes.rejected or exists (
      select from vote_resets
      where scope in ('all', votes.incarnation::text) and at > votes.created_at and reason <> 'monthly_reset'
        and (not votes.immutable or reason = 'deleted')) as rejected,
    -- Void, but its voter still has to wait: it was redeemed, or the plan that voided it says so.
    votes.void and (votes.void_reason = 'redeemed' or exists (
      select from void_plans where void_plans.id = votes.void_plan and not void_plans.releases)) as holds
  from votes
  left join lateral (
    select at, reason, created_at from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at
      and (not votes.immutable or reason = 'deleted')
    order by at limit 1
  ) as reset on true;

-- As vote_rows, with the number.
create view vote_log as
  select votes.incarnation, votes.log_number, votes.itag, votes.author, votes.upvote, votes.created_at, votes.ref,
    votes.void or reset.at is not null as void,
    case when votes.void then votes.void_reason else coalesce(reset.reason, '') end as void_reason
  from votes
  left join lateral (
    select at, reason from vote_resets
    where scope in ('all', votes.incarnation::text) and at > votes.created_at
      and (not votes.immutable or reason = 'deleted')
    order by at limit 1
  ) as reset on true;

-- Where votes came from, without any address: hashes by a key that only this directory has, another one each month. A flush
-- writes a row with that of the vote, so that no two have the same itag, and a job deletes it after VOTE_ORIGIN_DAYS. A vote
-- without a row was cast while that was 0, or imported.

create table vote_origins (
  itag uuid not null,
  -- When it was cast, as in `votes`.
  at timestamptz not null,
  incarnation bigint not null,
  author text not null,
  -- Of an IPv4 address or an IPv6 /64; of its /24 or /48; of the client program.
  address_hash bigint not null,
  network_hash bigint not null,
  agent_hash integer not null,
  -- Seconds from the author's first login to the vote; null where the node did not know.
  account_age integer,
  -- The sum of what was found later: storage/ledger/vote-flags.ts.
  flags smallint not null default 0
) partition by range (at);
create table vote_origins_default partition of vote_origins default;
create index vote_origins_address on vote_origins (address_hash, at);
create index vote_origins_time on vote_origins using brin (at) with (pages_per_range = 16);

-- How many votes of each hour (UTC) have an origin, and how many of them are of new accounts: what is usual in this directory.
create table vote_counts (
  hour timestamptz primary key,
  votes bigint not null,
  young bigint not null
);

-- What was found, with the figures that say why, one row for each day (UTC), listing and address.
create table vote_suspects (
  -- A flag of votes, or what is found of listings alone: storage/ledger/vote-flags.ts.
  kind smallint not null,
  -- The day, or the hour of what is found of listings alone.
  at timestamptz not null,
  -- 0: of several listings.
  incarnation bigint not null,
  -- 0: of several addresses.
  address_hash bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  figures jsonb not null,
  primary key (kind, at, incarnation, address_hash)
);
create index vote_suspects_time on vote_suspects (last_at);
