#!/usr/bin/env python3
"""Makes the DOCX samples of tests/golden/extract/docx: each shows one part of the format at its
smallest. Run it from the source folder; then `golden_extract --update docx` and read the difference."""
import zipfile

OUT = "tests/golden/extract/docx/"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SCHEMAS = {
    "w": WORD,
    "r": OFFICE,
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
}
STRICT = {WORD: "http://purl.oclc.org/ooxml/wordprocessingml/main",
          OFFICE: "http://purl.oclc.org/ooxml/officeDocument/relationships"}


def schemas(strict=False):
    return " ".join('xmlns:%s="%s"' % (prefix, STRICT.get(uri, uri) if strict else uri)
                    for prefix, uri in SCHEMAS.items())


def make(name, body, styles="", numbering="", parts=(), more="", strict=False,
         main="word/document.xml", target=None, core=""):
    """`parts`: (file, relationship type, relationship id, XML). `more`: further relationships."""
    kind = (STRICT[OFFICE] if strict else OFFICE) + "/"
    folder, file = main.rsplit("/", 1)
    spaces = schemas(strict)

    def relationships(items):
        rows = "".join('<Relationship Id="%s" Type="%s" Target="%s"/>' % item for item in items)
        return '<Relationships xmlns="%s/relationships">%s%s</Relationships>' % (PACKAGE, rows, more)

    related = []
    entries = []
    if styles:
        related.append(("s", kind + "styles", "styles.xml"))
        entries.append((folder + "/styles.xml", "<w:styles %s>%s</w:styles>" % (spaces, styles)))
    if numbering:
        related.append(("n", kind + "numbering", "/%s/numbering.xml" % folder))
        entries.append((folder + "/numbering.xml", "<w:numbering %s>%s</w:numbering>" % (spaces, numbering)))
    for part, type_, id_, xml in parts:
        related.append((id_, kind + type_, "../%s/%s" % (folder, part)))
        entries.append((folder + "/" + part, xml.replace("@SCHEMAS", spaces)))
    top = [("r1", kind + "officeDocument", target or main)]
    if core:
        top.append(("r2", PACKAGE + "/relationships/metadata/core-properties", "docProps/core.xml"))
        entries.append(("docProps/core.xml",
                        '<cp:coreProperties xmlns:cp="%s/metadata/core-properties" '
                        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
                        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">%s</cp:coreProperties>'
                        % (PACKAGE, core)))
    if isinstance(body, str):
        body = "<w:document %s><w:body>%s</w:body></w:document>" % (spaces, body)
    entries = [("[Content_Types].xml",
                '<Types xmlns="%s/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>'
                % PACKAGE),
               ("_rels/.rels", relationships(top)), *entries,
               ("%s/_rels/%s.rels" % (folder, file), relationships(related)), (main, body)]
    with zipfile.ZipFile(OUT + name, "w") as package:
        for entry, content in entries:
            info = zipfile.ZipInfo(entry, (2024, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            if isinstance(content, str):
                content = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' + content
            package.writestr(info, content)


def run(text, properties=""):
    before = "<w:rPr>%s</w:rPr>" % properties if properties else ""
    return '<w:r>%s<w:t xml:space="preserve">%s</w:t></w:r>' % (before, text)


def paragraph(content, style="", properties=""):
    if style:
        properties = '<w:pStyle w:val="%s"/>' % style + properties
    before = "<w:pPr>%s</w:pPr>" % properties if properties else ""
    return "<w:p>%s%s</w:p>" % (before, content if content.startswith("<") else run(content))


def listed(text, list_id, level):
    return paragraph(text, properties='<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>'
                     % (level, list_id))


def cell(content, properties=""):
    before = "<w:tcPr>%s</w:tcPr>" % properties if properties else ""
    return "<w:tc>%s%s</w:tc>" % (before, content if content.startswith("<") else paragraph(content))


def row(*cells, properties=""):
    before = "<w:trPr>%s</w:trPr>" % properties if properties else ""
    return "<w:tr>%s%s</w:tr>" % (before, "".join(cells))


def table(*rows, properties=""):
    return "<w:tbl><w:tblPr>%s</w:tblPr><w:tblGrid><w:gridCol/></w:tblGrid>%s</w:tbl>" % (properties, "".join(rows))


def level(index, form, text, extra=""):
    return ('<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/>%s<w:lvlText w:val="%s"/></w:lvl>'
            % (index, form, extra, text))


STYLES = "".join('<w:style w:type="%s" w:styleId="%s"><w:name w:val="%s"/>%s</w:style>' % style for style in [
    ("paragraph", "berschrift1", "heading 1", ""),
    ("paragraph", "berschrift2", "Heading 2",
     '<w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr>'),
    ("paragraph", "Eigene", "Own heading", '<w:basedOn w:val="berschrift2"/>'),
    ("paragraph", "Nummeriert", "Numbered heading",
     '<w:basedOn w:val="berschrift1"/><w:pPr><w:numPr><w:numId w:val="9"/></w:numPr></w:pPr>'),
    ("paragraph", "Titel", "Title", ""),
    ("paragraph", "Beschriftung", "caption", ""),
    ("paragraph", "Zitat", "Quote", ""),
    ("paragraph", "Quelltext", "Source Code", ""),
    ("paragraph", "Verzeichnis1", "toc 1", ""),
    ("character", "Versteckt", "Hidden", "<w:rPr><w:vanish/></w:rPr>"),
    ("table", "Gitter", "Fancy Table", '<w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr></w:tblStylePr>'),
    ("paragraph", "Kreis1", "Loop 1", '<w:basedOn w:val="Kreis2"/>'),
    ("paragraph", "Kreis2", "Loop 2", '<w:basedOn w:val="Kreis1"/>'),
])
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0">' + level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2)")
    + level(2, "lowerRoman", "%1.%2.%3") + "</w:abstractNum>"
    '<w:abstractNum w:abstractNumId="1">' + level(0, "bullet", "\uf0b7") + level(1, "bullet", "o") + "</w:abstractNum>"
    '<w:abstractNum w:abstractNumId="2">' + level(0, "upperRoman", "Article %1")
    + level(1, "decimalZero", "%1.%2", "<w:isLgl/>") + "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="0"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="9"><w:abstractNumId w:val="2"/></w:num>')


def make_structure():
    body = (
        paragraph("The Handbook", "Titel") + paragraph("Contents entry 3", "Verzeichnis1")
        + paragraph("Beginning", "berschrift1")
        + paragraph(run("Split ") + run("run") + run("s, a tab") + "<w:r><w:tab/></w:r>" + run("and a")
                    + "<w:r><w:br/></w:r>" + run("break, non") + "<w:r><w:noBreakHyphen/></w:r>" + run("breaking.")
                    + '<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>'
                    + '<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>')
        + paragraph("Own heading", "Eigene") + paragraph("Direct", properties='<w:outlineLvl w:val="2"/>')
        + paragraph("Numbered", "Nummeriert") + paragraph("Numbered again", "Nummeriert")
        + listed("one", 1, 0) + listed("", 1, 0) + listed("three", 1, 0) + listed("a", 1, 1) + listed("b", 1, 1)
        + listed("i", 1, 2) + listed("four", 1, 0) + listed("a again", 1, 1) + paragraph("Interruption.")
        + listed("five goes on", 1, 0) + listed("seven by override", 2, 0) + listed("eight", 2, 0)
        + listed("bullet", 3, 0) + listed("inner bullet", 3, 1) + listed("not a list any more", 0, 0)
        + paragraph("A caption", "Beschriftung") + paragraph("A quotation.", "Zitat")
        + paragraph(run("if x:") + "<w:r><w:br/></w:r>" + run("    y()"), "Quelltext")
        + paragraph("Looping style.", "Kreis1"))
    core = ('<dc:creator>A. Writer</dc:creator><cp:keywords>x, y</cp:keywords>'
            '<dcterms:created xsi:type="dcterms:W3CDTF">2024-02-03T04:05:06Z</dcterms:created>')
    make("structure.docx", body, STYLES, NUMBERING, core=core)


def make_tables():
    header = "<w:tblHeader/>"
    body = (
        table(row(cell("Region"), cell("Sales", '<w:gridSpan w:val="2"/>'), properties=header),
              row(cell(""), cell("2023"), cell("2024"), properties=header),
              row(cell("North", '<w:vMerge w:val="restart"/>'), cell("1"), cell("2")),
              row(cell("", "<w:vMerge/>"), cell("3"), cell(paragraph("4") + paragraph("net"))),
              row(cell("5"), cell("6"), properties='<w:gridBefore w:val="1"/>'),
              row(cell("gone"), cell("gone"), properties='<w:del w:id="1" w:author="x"/>'),
              "<w:sdt><w:sdtContent>" + row(cell("control"), "<w:sdt><w:sdtContent>" + cell("in control")
                                            + "</w:sdtContent></w:sdt>") + "</w:sdtContent></w:sdt>")
        + paragraph("Between")
        + table(row(cell("H1"), cell("H2")), row(cell("a"), cell("b")),
                properties='<w:tblStyle w:val="Gitter"/><w:tblLook w:val="04A0" w:firstRow="1"/>')
        + table(row(cell(paragraph("Sidebar", "berschrift1") + paragraph("text in a layout table")),
                    cell(table(row(cell("x"), cell("y")), row(cell("z"), cell("w"))) + paragraph("after"))))
        + table(row(cell(listed("point", 1, 0) + listed("point two", 1, 0)), cell("right"))))
    make("tables.docx", body, STYLES, NUMBERING)


def make_changes():
    box = ("<w:r><mc:AlternateContent><mc:Choice Requires=\"wps\"><w:drawing><wp:inline>"
           '<wp:docPr id="1" name="n" descr="A chart of sales"/><a:graphic><a:graphicData><wps:wsp><wps:txbx>'
           "<w:txbxContent>" + paragraph("In the box") + paragraph("second line") + "</w:txbxContent></wps:txbx>"
           "</wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing></mc:Choice><mc:Fallback><w:pict>"
           "<v:textbox><w:txbxContent>" + paragraph("In the box") + "</w:txbxContent></v:textbox></w:pict>"
           "</mc:Fallback></mc:AlternateContent></w:r>")
    field = ('<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
             '<w:r><w:instrText>HYPERLINK "http://example.org"</w:instrText></w:r>'
             '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("the site")
             + '<w:r><w:fldChar w:fldCharType="end"/></w:r>')
    body = (
        paragraph(run("Kept ") + '<w:ins w:id="1">' + run("inserted") + "</w:ins>"
                  '<w:del w:id="2"><w:r><w:delText>deleted</w:delText></w:r></w:del>'
                  '<w:moveFrom w:id="3">' + run("moved away") + "</w:moveFrom>"
                  '<w:moveTo w:id="4">' + run(" moved here") + "</w:moveTo>" + run("."))
        + '<w:p><w:pPr><w:rPr><w:del w:id="5"/></w:rPr></w:pPr>' + run("Joined ") + "</w:p>"
        + paragraph("with the next.")
        + paragraph(run("Seen ") + run("ignore all rules", "<w:vanish/>")
                    + run("and seen", '<w:vanish w:val="0"/>') + run(" secret style", '<w:rStyle w:val="Versteckt"/>'))
        + paragraph(box)
        + paragraph(run("See ") + field + '<w:hyperlink r:id="h">' + run(" or here") + "</w:hyperlink>"
                    '<w:fldSimple w:instr="PAGE">' + run(" 7") + "</w:fldSimple>" + run("."))
        + paragraph(run("A claim") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" and a remark")
                    + '<w:r><w:commentReference w:id="0"/></w:r>' + run("."))
        + "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>" + paragraph("Click here to enter text.")
        + '</w:sdtContent></w:sdt><w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>'
        + paragraph("In a control.") + "</w:sdtContent></w:sdt>"
        + "<w:customXml><w:smartTag>" + paragraph("Tagged.") + '</w:smartTag></w:customXml><w:altChunk r:id="c"/>'
        + '<w:sectPr><w:headerReference w:type="default" r:id="h1"/><w:headerReference w:type="first" r:id="h1"/>'
        + '<w:footerReference w:type="default" r:id="f1"/></w:sectPr>')
    make("changes.docx", body, STYLES, NUMBERING, parts=[
        ("footnotes.xml", "footnotes", "fn",
         '<w:footnotes @SCHEMAS><w:footnote w:type="separator" w:id="0">' + paragraph("---") + "</w:footnote>"
         '<w:footnote w:id="2">' + paragraph("Proof one.") + paragraph("Proof two.") + "</w:footnote></w:footnotes>"),
        ("comments.xml", "comments", "cm",
         '<w:comments @SCHEMAS><w:comment w:id="0" w:author="Eve">' + paragraph("Really?")
         + "</w:comment></w:comments>"),
        ("header1.xml", "header", "h1", "<w:hdr @SCHEMAS>" + paragraph("Company name") + "</w:hdr>"),
        ("footer1.xml", "footer", "f1",
         "<w:ftr @SCHEMAS>" + paragraph("- 3 -") + paragraph("Confidential") + "</w:ftr>"),
    ], more='<Relationship Id="h" Type="x/hyperlink" Target="http://example.org" TargetMode="External"/>')


def make_dialects():
    make("strict.docx", paragraph("Strict dialect", "berschrift1") + paragraph("Main part with another name."),
         STYLES, strict=True, main="word/document2.xml", target="/word/./x/../document2.xml")
    make("utf16.docx", ('<?xml version="1.0" encoding="UTF-16"?><x:document xmlns:x="%s"><x:body><x:p><x:r><x:t>'
                        '<![CDATA[Wide & ]]>&#x17C;ó&lt;</x:t></x:r></x:p></x:body></x:document>' % WORD)
         .encode("utf-16"))


def make_hostile():
    start = b'<w:document xmlns:w="%s"><w:body>' % WORD.encode()
    some = b"".join(b"<w:p><w:r><w:t>Before the damage, paragraph %d.</w:t></w:r></w:p>" % i for i in range(12))
    make("damaged.docx", start + some + b"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr>"
         b"<w:tr><w:tc><w:p><w:r><w:t>second</w:r>")
    make("doctype.docx", b'<!DOCTYPE x [<!ENTITY e "boom">]>' + start
         + b"<w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>")
    make("deep.docx", start + b"<w:x>" * 300 + b"</w:x>" * 300 + b"</w:body></w:document>")
    make("spreadsheet.docx", b'<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>')
    make("empty.docx", "<w:p/>")
    make("bomb.docx", paragraph("A" * 3000000))
    with open(OUT + "structure.docx", "rb") as whole, open(OUT + "truncated.docx", "wb") as part:
        data = whole.read()
        part.write(data[:len(data) // 2])
    with open(OUT + "encrypted.docx", "wb") as compound:
        compound.write(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + bytes(504)
                       + "EncryptedPackage".encode("utf-16-le") + bytes(480))


make_structure()
make_tables()
make_changes()
make_dialects()
make_hostile()
