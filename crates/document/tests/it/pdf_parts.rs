//! The parts of a PDF beside its text layer: forms, notes, links, files, pictures and pages that cannot be read.

use document::{Limits, Text, text};
use lopdf::{Dictionary, Document, Object, Stream, dictionary};

use crate::made;

fn read(bytes: &[u8]) -> Text {
    text(bytes, "a.pdf", &Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn literal(text: &str) -> Object {
    Object::string_literal(text)
}

fn saved(mut made: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    made.save_to(&mut bytes).unwrap();
    bytes
}

/// Returns a PDF whose only page says `Name:`.
fn plain() -> Document {
    Document::load_mem(&made::pdf(&["BT /F1 12 Tf 72 700 Td (Name:) Tj ET"], false)).unwrap()
}

/// Returns a PDF whose page has these annotations. `fields` are the fields of its form, by their index.
fn with_annotations(annotations: Vec<Dictionary>, fields: &[usize], catalog: &Dictionary) -> Vec<u8> {
    let mut made = plain();
    let ids: Vec<Object> = annotations.into_iter().map(|one| made.add_object(one).into()).collect();
    let page = made.page_iter().next().unwrap();
    made.get_object_mut(page).unwrap().as_dict_mut().unwrap().set("Annots", ids.clone());
    let fields: Vec<Object> = fields.iter().map(|at| ids[*at].clone()).collect();
    let root = made.catalog_mut().unwrap();
    root.set("AcroForm", dictionary! { "Fields" => fields });
    root.extend(catalog);
    made.compress();
    saved(made)
}

fn widget(kind: &str, name: &str, entries: &Dictionary) -> Dictionary {
    let mut widget =
        dictionary! { "Type" => "Annot", "Subtype" => "Widget", "FT" => kind, "T" => literal(name) };
    widget.extend(entries);
    widget
}

#[test]
fn filled_form_gives_its_values() {
    let check = |fields: Vec<Dictionary>, expected: &str| {
        let all: Vec<usize> = (0..fields.len()).collect();
        // The fields are listed in the form, or stand on the page only: py-pdf/pypdf#2453, GSA-TTS/forms#134.
        for listed in [all.as_slice(), &[]] {
            let found = read(&with_annotations(fields.clone(), listed, &dictionary! {}));
            assert_eq!(found.text, format!("Name:\n\n--- fields of the form ---\n{expected}"));
            assert!(found.notes.is_empty());
        }
    };
    // Forms that readers showed as blank: docling-project/docling#2677, open-legal-products/mike#387, yob/pdf-reader#44.
    check(vec![widget("Tx", "name", &dictionary! { "V" => literal("Ada Example") })], "name: Ada Example\n");
    check(
        vec![
            widget("Tx", "name", &dictionary! { "TU" => literal("Your name"), "V" => literal(" ") }),
            widget("Tx", "note", &dictionary! { "TU" => literal("Your note"), "V" => literal("one\rtwo") }),
        ],
        "Your note (note): one\n    two\n(1 further field is empty)\n",
    );
    check(
        vec![
            widget("Btn", "agreed", &dictionary! { "V" => "Yes", "AS" => "Yes" }),
            widget("Btn", "paid", &dictionary! { "AS" => "Off" }),
            widget("Btn", "kind", &dictionary! { "AS" => "Invoice" }),
            widget("Btn", "send", &dictionary! { "Ff" => 1 << 16 }),
        ],
        "agreed: yes\npaid: no\nkind: yes (Invoice)\n",
    );
    let options = vec![
        Object::Array(vec![literal("de"), literal("Germany")]),
        Object::Array(vec![literal("fr"), literal("France")]),
    ];
    let both = vec![literal("de"), literal("fr")];
    check(
        vec![
            widget("Ch", "country", &dictionary! { "V" => literal("fr"), "Opt" => options.clone() }),
            widget("Ch", "all", &dictionary! { "V" => both, "Opt" => options }),
            widget("Sig", "sign", &dictionary! { "V" => dictionary! { "Name" => literal("Ada") } }),
        ],
        "country: France\nall: Germany, France\nsign: signed, which is not checked; by Ada\n",
    );
}

/// Reported of other programs: yuroyami/KitePDF#239.
#[test]
fn fields_without_a_form_give_their_values() {
    let mut made = plain();
    let field = made.add_object(widget("Tx", "name", &dictionary! { "V" => literal("Ada Example") }));
    let page = made.page_iter().next().unwrap();
    made.get_object_mut(page).unwrap().as_dict_mut().unwrap().set("Annots", vec![Object::from(field)]);
    let found = read(&saved(made));
    assert_eq!(found.text, "Name:\n\n--- fields of the form ---\nname: Ada Example\n");
}

#[test]
fn long_lists_of_a_form_are_read_within_limits() {
    let list = |count: usize, word: &str| -> Vec<Object> {
        (0..count).map(|at| literal(&format!("{word}{at}"))).collect()
    };
    // Many chosen entries of a long list: each is found at once.
    let entries = dictionary! { "V" => list(20_000, "b"), "Opt" => list(20_000, "a") };
    let found = read(&with_annotations(vec![widget("Ch", "all", &entries)], &[0], &dictionary! {}));
    assert!(found.text.ends_with("b19998, b19999\n"));
    // Many fields that share one long list or one text with markup.
    for (kind, key) in [("Ch", "Opt"), ("Tx", "RV")] {
        let mut made = plain();
        let shared = match key {
            "Opt" => Object::Array(list(25_000, "a")),
            _ => literal(&"<!--".repeat(25_000)),
        };
        let shared = made.add_object(shared);
        let fields: Vec<Object> = (0..500)
            .map(|at| {
                let entries = dictionary! { key => shared };
                made.add_object(widget(kind, &format!("f{at}"), &entries)).into()
            })
            .collect();
        made.catalog_mut().unwrap().set("AcroForm", dictionary! { "Fields" => fields });
        let error = text(&saved(made), "a.pdf", &Limits::default()).unwrap_err();
        assert!(error.to_string().contains("drawing operations"), "{error}");
    }
}

#[test]
fn fields_inherit_from_the_fields_above_them() {
    let mut made = plain();
    let (top, radio) = (made.new_object_id(), made.new_object_id());
    let text =
        made.add_object(dictionary! { "T" => literal("city"), "Parent" => top, "V" => literal("Ulm") });
    let kids: Vec<Object> = ["Off", "Two"]
        .iter()
        .map(|state| {
            made.add_object(dictionary! { "Parent" => radio, "AS" => *state, "Subtype" => "Widget" }).into()
        })
        .collect();
    let way = dictionary! { "T" => literal("way"), "FT" => "Btn", "Ff" => 1 << 15, "Kids" => kids };
    made.objects.insert(radio, way.into());
    // A field that is its own child ends nothing.
    let kids: Vec<Object> = vec![text.into(), radio.into(), top.into()];
    made.objects.insert(top, dictionary! { "T" => literal("address"), "FT" => "Tx", "Kids" => kids }.into());
    let fields: Vec<Object> = vec![top.into()];
    made.catalog_mut().unwrap().set("AcroForm", dictionary! { "Fields" => fields });
    let found = read(&saved(made)).text;
    assert_eq!(found, "Name:\n\n--- fields of the form ---\naddress.city: Ulm\nway: Two\n");
}

#[test]
fn drawn_values_and_xfa_are_not_lost() {
    let mut made = plain();
    let font =
        made.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica" });
    let resources = dictionary! { "Font" => dictionary! { "F1" => font } };
    let head = dictionary! { "Subtype" => "Form", "Resources" => resources };
    let drawing = made.add_object(Stream::new(head, b"BT /F1 10 Tf (Ada drawn) Tj ET".to_vec()));
    let field =
        made.add_object(widget("Tx", "name", &dictionary! { "AP" => dictionary! { "N" => drawing } }));
    let packet = made.add_object(Stream::new(dictionary! {}, b"<xdp/>".to_vec()));
    let fields: Vec<Object> = vec![field.into()];
    let packets: Vec<Object> = vec![literal("datasets"), packet.into()];
    made.catalog_mut().unwrap().set("AcroForm", dictionary! { "Fields" => fields, "XFA" => packets });
    let found = read(&saved(made));
    assert!(
        found.text.starts_with("Name:\n\n--- fields of the form ---\nname: Ada drawn\n"),
        "{}",
        found.text
    );
    assert_eq!(
        found.notes,
        ["left out: an XFA form, 6 bytes; only its fields that the file also has as plain fields were read"]
    );
}

/// Reported of other programs: 0xabu/pdfannots#50, fuxialexander/org-pdftools#55, yfedoseev/pdf_oxide#92.
#[test]
fn notes_links_and_files_are_named() {
    let note = |kind: &str, text: &str| dictionary! { "Subtype" => kind, "Contents" => literal(text), "T" => literal("Ada") };
    let link = |to: &str| dictionary! { "Subtype" => "Link", "A" => dictionary! { "S" => "URI", "URI" => literal(to) } };
    let file = dictionary! { "F" => literal("data.xml"), "EF" => dictionary! {} };
    let named: Vec<Object> = vec![literal("n"), file.clone().into()];
    let found = read(&with_annotations(
        vec![
            note("FreeText", "Paid on Monday"),
            note("Highlight", "look here"),
            note("Popup", "look here"),
            link("https://a.example/pay"),
            link("https://a.example/pay"),
            dictionary! { "Subtype" => "FileAttachment", "FS" => file },
        ],
        &[],
        &dictionary! { "Names" => dictionary! { "EmbeddedFiles" => dictionary! { "Names" => named } } },
    ));
    assert_eq!(
        found.text,
        "Name:\n\n--- notes on page 1 ---\nFreeText by Ada: Paid on Monday\nHighlight by Ada: look here\n\n\
         --- targets of links ---\nhttps://a.example/pay\n[left out: an attached file, data.xml]\n"
    );
    assert_eq!(found.notes, ["left out: an attached file, data.xml"]);
}

#[test]
fn pages_without_text_and_pictures_are_counted() {
    let mut made = Document::with_version("1.5");
    let head = dictionary! { "Type" => "XObject", "Subtype" => "Image", "Width" => 1, "Height" => 1 };
    let picture = made.add_object(Stream::new(head, vec![0]));
    let font =
        made.add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica" });
    let resources = dictionary! {
        "XObject" => dictionary! { "Im1" => picture }, "Font" => dictionary! { "F1" => font },
    };
    let words = "BT /F1 12 Tf 72 700 Td (words) Tj ET";
    let both = format!("{words} /Im1 Do");
    let pages = [both.as_str(), "/Im1 Do", "BI /W 1 /H 1 ID \u{0} EI", "0 0 m 9 9 l S", "", words];
    let found = read(&made::finish(made, &pages, &resources, true));
    assert_eq!(
        found.notes,
        [
            "pages 2–4 have no text that can be read, only pictures or drawings",
            "left out: 3 pictures on pages 1–3",
        ]
    );
    assert!(found.text.starts_with("words\n\nwords\n["), "{}", found.text);
}

#[test]
fn damaged_page_and_missing_page_are_said() {
    let mut made =
        Document::load_mem(&made::pdf(&["BT /F1 12 Tf 72 700 Td (kept) Tj ET"; 2], false)).unwrap();
    let second = made.page_iter().nth(1).unwrap();
    let broken = made.add_object(Stream::new(dictionary! { "Filter" => "JBIG2Decode" }, b"no".to_vec()));
    made.get_object_mut(second).unwrap().as_dict_mut().unwrap().set("Contents", broken);
    let tree = made.catalog().unwrap().get(b"Pages").unwrap().as_reference().unwrap();
    made.get_object_mut(tree).unwrap().as_dict_mut().unwrap().set("Count", 3);
    let found = read(&saved(made));
    assert_eq!(
        found.notes,
        ["left out: damaged parts of page 2", "left out: 1 page, which the file lists and does not have"]
    );
}

#[test]
fn pdf_with_an_empty_password_is_read() {
    assert_eq!(read(&made::encrypted_with("")).text, "closed\n");
}
