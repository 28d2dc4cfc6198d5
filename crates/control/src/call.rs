//! A call of one method written as code, `E(it).method(…)`, for users who write no program.

use kernel::{FormulaId, Value};

use crate::exit::{Exit, Failure};

/// The name of the called object in the code.
pub const RECEIVER: &str = "it";

/// A program that calls one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The code.
    pub source: String,
    /// The other names in the code, each with the formula that it stands for.
    pub references: Vec<(String, FormulaId)>,
}

/// Returns the program that calls a method with these arguments.
///
/// # Errors
/// When the method name is empty or too long, or an argument has no literal: bytes, symbols, tagged values, errors.
pub fn program(method: &str, args: &[Value]) -> Result<Call, Failure> {
    if method.is_empty() || method.len() > 200 {
        return Err(Failure::new(Exit::Invalid, "which method is called is not said").help("write its name"));
    }
    let mut call = Call { source: format!("E({RECEIVER})"), references: vec![] };
    let is_plain = method.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        call.source += &format!(".{method}(");
    } else {
        call.source += &format!("[{}](", text(method));
    }
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            call.source += ", ";
        }
        call.write(arg)?;
    }
    call.source += ")";
    Ok(call)
}

/// Returns text as a literal. Every JSON string is also a JavaScript string.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Call {
    fn write(&mut self, value: &Value) -> Result<(), Failure> {
        let literal = match value {
            Value::Undefined => "undefined".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Bool(truth) => truth.to_string(),
            Value::Number(number) if number.is_nan() => "NaN".to_owned(),
            Value::Number(number) if number.is_infinite() => {
                if *number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
            }
            Value::Number(number) => number.to_string(),
            Value::BigInt(number) => format!("{number}n"),
            Value::String(words) => match words.as_str() {
                Some(words) => text(words),
                None => return Err(no_literal("text with half a character")),
            },
            Value::Array(all) => {
                self.source.push('[');
                for one in all.iter() {
                    self.write(one)?;
                    self.source.push(',');
                }
                "]".to_owned()
            }
            Value::Record(all) => {
                self.source.push('{');
                for (name, one) in all.iter() {
                    let Some(name) = name.as_str() else {
                        return Err(no_literal("a name with half a character"));
                    };
                    // The name is in brackets, because a plain `__proto__` would set the prototype.
                    self.source += &format!("[{}]:", text(name));
                    self.write(one)?;
                    self.source.push(',');
                }
                "}".to_owned()
            }
            Value::Remotable(remote) | Value::Promise(remote) => {
                let name = format!("given{}", self.references.len());
                self.references.push((name.clone(), remote.reference));
                name
            }
            Value::Bytes(_) => return Err(no_literal("bytes")),
            Value::Symbol(_) => return Err(no_literal("a symbol")),
            Value::Tagged(_) => return Err(no_literal("a set, a map or another tagged value")),
            Value::Error(_) => return Err(no_literal("an error")),
        };
        self.source += &literal;
        Ok(())
    }
}

fn no_literal(what: &str) -> Failure {
    Failure::new(Exit::Invalid, format!("{what} cannot be written as an argument here"))
        .help("`almoner eval` calls it with a program of yours, which can make one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_call_is_written_as_program() {
        for (method, args, expected) in [
            ("incr", "[]", Ok("E(it).incr()")),
            ("add", "[3n, -0.5, NaN, Infinity]", Ok("E(it).add(3n, -0.5, NaN, Infinity)")),
            (
                "put",
                r#"["a\"\n", { "__proto__": [null, undefined] }, true]"#,
                Ok(r#"E(it).put("a\"\n", {["__proto__"]:[null,undefined,],}, true)"#),
            ),
            ("a.b", "[]", Ok(r#"E(it)["a.b"]()"#)),
            ("x\"](evil)//", "[]", Ok(r#"E(it)["x\"](evil)//"]()"#)),
            ("", "[]", Err("is not said")),
        ] {
            let args = Value::parse(args).unwrap();
            let args: Vec<Value> = args.as_array().unwrap().to_vec();
            match (program(method, &args), expected) {
                (Ok(call), Ok(expected)) => assert_eq!(call.source, expected),
                (Err(failure), Err(expected)) => {
                    assert!(failure.message.visible_line().contains(expected), "{failure:?}")
                }
                (call, _) => panic!("{method}: {call:?}"),
            }
        }
        let id = FormulaId { number: [1; 32], node: [2; 32] };
        let call = program("hold", &[Value::remotable(id), Value::array([Value::promise(id)])]).unwrap();
        assert_eq!(call.source, "E(it).hold(given0, [given1,])");
        assert_eq!(call.references, [("given0".to_owned(), id), ("given1".to_owned(), id)]);
        assert!(program("m", &[Value::bytes([1u8])]).is_err());
    }
}
