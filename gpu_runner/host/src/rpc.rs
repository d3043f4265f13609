//! JSON-RPC 2.0 envelopes and the one error type of this program.

use serde_json::{json, Value};

/// Error code of a kernel that did not compile; the codes below -32600 are JSON-RPC's own.
pub const COMPILE_FAILED: i64 = -32000;
pub const INTERNAL: i64 = -32603;
const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;
const PARSE_ERROR: i64 = -32700;

/// Why a request failed, and where in the kernel text: line from 1, column from 0 in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: i64,
    pub message: String,
    pub place: Option<(usize, usize)>,
}

impl Failure {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Failure {
            code,
            message: clean(&message.into()),
            place: None,
        }
    }

    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.place = Some((line, column));
        self
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("no method `{method}`"))
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    fn to_json(&self) -> Value {
        let (line, column) = match self.place {
            Some((line, column)) => (json!(line), json!(column)),
            None => (Value::Null, Value::Null),
        };
        json!({"code": self.code, "message": self.message, "data": {"line": line, "column": column}})
    }
}

/// Removes the `# [__cutile_node_id = 11]` marks that the JIT leaves in quoted source.
fn clean(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(mark) = rest.find("__cutile_node_id") {
        let Some(open) = rest[..mark].rfind('#') else {
            break;
        };
        let Some(close) = rest[mark..].find(']') else {
            break;
        };
        out.push_str(&rest[..open]);
        rest = rest[mark + close + 1..].trim_start_matches(' ');
    }
    out.push_str(rest);
    out.trim_end().to_string()
}

/// Answers one line; `None` for a notification.
pub fn answer(
    line: &str,
    dispatch: impl Fn(&str, &Value) -> Result<Value, Failure>,
) -> Option<Value> {
    let request: Value = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => {
            let failure = Failure::new(PARSE_ERROR, error.to_string());
            return Some(json!({"jsonrpc": "2.0", "id": null, "error": failure.to_json()}));
        }
    };
    let method = request["method"].as_str().unwrap_or_default();
    let outcome = dispatch(method, &request["params"]);
    let id = request.get("id")?;
    Some(match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => json!({"jsonrpc": "2.0", "id": id, "error": failure.to_json()}),
    })
}

/// A string member of `params`.
pub fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, Failure> {
    params[name]
        .as_str()
        .ok_or_else(|| Failure::invalid(format!("`{name}` must be a string")))
}

/// A member of `params` that lists 32-bit integers.
pub fn integers(value: &Value, name: &str) -> Result<Vec<i32>, Failure> {
    value
        .as_array()
        .and_then(|items| {
            items
                .iter()
                .map(|item| item.as_i64().and_then(|n| i32::try_from(n).ok()))
                .collect()
        })
        .ok_or_else(|| Failure::invalid(format!("`{name}` must be a list of 32-bit integers")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_marks_are_removed() {
        let noisy = "got `# [__cutile_node_id = 11] x + # [__cutile_node_id = 7] y`";
        assert_eq!(clean(noisy), "got `x + y`");
        assert_eq!(clean("a # b"), "a # b");
    }

    #[test]
    fn broken_lines_are_answered() {
        let reply = answer("{", |_, _| Ok(Value::Null)).unwrap();
        assert_eq!(reply["error"]["code"], PARSE_ERROR);
    }

    #[test]
    fn notifications_are_not_answered() {
        assert_eq!(answer(r#"{"method": "x"}"#, |_, _| Ok(Value::Null)), None);
    }

    #[test]
    fn failures_carry_their_place() {
        let reply = answer(r#"{"id": 3, "method": "x"}"#, |_, _| {
            Err(Failure::new(COMPILE_FAILED, "no").at(4, 2))
        })
        .unwrap();
        assert_eq!(reply["id"], 3);
        assert_eq!(reply["error"]["data"], json!({"line": 4, "column": 2}));
    }
}
