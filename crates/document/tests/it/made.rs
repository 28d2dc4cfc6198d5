//! PDF files made for a test, small enough to be read in the source.

use lopdf::{Dictionary, Document, Object, SaveOptions, Stream, dictionary};

/// Returns a PDF with one page per content stream, in Helvetica 12 as `/F1`; `compressed` as files usually are.
pub(crate) fn pdf(pages: &[&str], compressed: bool) -> Vec<u8> {
    let mut made = Document::with_version("1.5");
    let font = made.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica", "Encoding" => "WinAnsiEncoding",
    });
    let resources = dictionary! { "Font" => dictionary! { "F1" => font } };
    finish(made, pages, &resources, compressed)
}

/// Puts pages and catalog around content streams and writes the file.
pub(crate) fn finish(
    mut made: Document,
    pages: &[&str],
    resources: &Dictionary,
    compressed: bool,
) -> Vec<u8> {
    let tree = made.new_object_id();
    let kids: Vec<Object> = pages
        .iter()
        .map(|content| {
            let content = made.add_object(Stream::new(dictionary! {}, content.as_bytes().to_vec()));
            made.add_object(dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => content }).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    made.objects.insert(
        tree,
        Object::Dictionary(dictionary! {
            "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources.clone(),
            "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
        }),
    );
    let catalog = made.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    made.trailer.set("Root", catalog);
    if compressed {
        made.compress();
    }
    let mut bytes = Vec::new();
    made.save_to(&mut bytes).unwrap();
    bytes
}

/// Returns a PDF like a scanner's: its pages only draw a line and a small picture.
pub(crate) fn scan() -> Vec<u8> {
    let mut made = Document::with_version("1.5");
    let picture = made.add_object(Stream::new(
        dictionary! {
            "Type" => "XObject", "Subtype" => "Image", "Width" => 2, "Height" => 2,
            "ColorSpace" => "DeviceGray", "BitsPerComponent" => 8,
        },
        vec![0, 255, 255, 0],
    ));
    let resources = dictionary! { "XObject" => dictionary! { "Im1" => picture } };
    finish(made, &["q 595 0 0 842 0 0 cm /Im1 Do Q", "0 0 m 100 100 l S"], &resources, true)
}

/// Returns a PDF that opens only with the password "secret".
pub(crate) fn encrypted() -> Vec<u8> {
    encrypted_with("secret")
}

/// Returns a PDF that opens with this password.
pub(crate) fn encrypted_with(password: &str) -> Vec<u8> {
    use lopdf::{EncryptionState, EncryptionVersion, Permissions};
    let mut made = Document::load_mem(&pdf(&["BT /F1 12 Tf 72 700 Td (closed) Tj ET"], true)).unwrap();
    let id = Object::String(vec![7; 16], lopdf::StringFormat::Hexadecimal);
    made.trailer.set("ID", vec![id.clone(), id]);
    let version = EncryptionVersion::V2 {
        document: &made,
        owner_password: "owner",
        user_password: password,
        key_length: 128,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    made.encrypt(&state).unwrap();
    let mut bytes = Vec::new();
    made.save_to(&mut bytes).unwrap();
    bytes
}

/// Returns a PDF whose only page unfolds to `size` bytes of blanks after a short text.
pub(crate) fn bomb(size: usize) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf (boo) Tj ET{}", " ".repeat(size));
    pdf(&[&content], true)
}

/// Returns a sound PDF whose objects stand in compressed streams, among them `count` strings of `size` bytes.
pub(crate) fn object_streams(count: usize, size: usize) -> Vec<u8> {
    let mut made = Document::load_mem(&pdf(&["BT /F1 12 Tf (x) Tj ET"], false)).unwrap();
    for _ in 0..count {
        made.add_object(Object::string_literal("y".repeat(size)));
    }
    let options =
        SaveOptions::builder().use_object_streams(true).use_xref_streams(true).max_objects_per_stream(10);
    let mut bytes = Vec::new();
    made.save_with_options(&mut bytes, options.build()).unwrap();
    bytes
}
