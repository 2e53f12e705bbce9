//! CEL conditions on a request, such as the match conditions of a webhook.

use kube_cel::cel::{IdedExpr, Value as CelValue};
use serde_json::Value;

use super::{FUNCTIONS, parse, runtime_text, value};

/// A boolean expression with Kubernetes' functions.
#[derive(Debug)]
pub struct Condition {
    program: IdedExpr,
    text: String,
}

impl Condition {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// The fault of the expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        let program = parse(text).map_err(|error| error.to_string())?;
        if let Some(name) = parse::message(&program) {
            return Err(format!("undeclared reference to '{name}' (in container '')"));
        }
        Ok(Self { program, text: text.trim().to_owned() })
    }

    /// Whether the expression uses a variable.
    #[must_use]
    pub fn uses(&self, variable: &str) -> bool {
        self.program.references().has_variable(variable)
    }

    /// Evaluates the condition.
    ///
    /// * `variables` - names and values; numbers, strings and lists have their JSON types.
    ///
    /// # Errors
    ///
    /// Why the evaluation failed, in the words of the API server.
    pub fn holds(&self, variables: &[(&str, &Value)]) -> Result<bool, String> {
        FUNCTIONS.with(|functions| {
            let mut scope = functions.new_inner_scope();
            for (name, value) in variables {
                scope.add_variable_from_value(*name, value::convert(None, value));
            }
            match CelValue::resolve(&self.program, &scope) {
                Ok(CelValue::Bool(holds)) => Ok(holds),
                Ok(_) => Err(format!("expression '{}' resulted in a value that is no bool", self.text)),
                Err(error) => Err(format!("expression '{}' resulted in error: {}", self.text, runtime_text(&error))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_see_objects_and_requests() {
        let metadata = json!({"name": "a", "labels": {"x": "y", "example.com/net": "blue"}});
        let object = json!({"metadata": metadata, "spec": {"replicas": 3}});
        let request = json!({"operation": "CREATE", "userInfo": {"groups": ["a", "b"]}});
        let check = |text: &str| {
            Condition::parse(text).unwrap().holds(&[
                ("object", &object),
                ("oldObject", &Value::Null),
                ("request", &request),
            ])
        };
        assert_eq!(check("object.metadata.labels['x'] == 'y' && oldObject == null"), Ok(true));
        assert_eq!(check("'example.com/net' in object.metadata.labels"), Ok(true));
        assert_eq!(check("object.metadata.labels['example.com/net'] == 'blue'"), Ok(true));
        assert_eq!(check("!has(object.metadata.annotations) && object.spec.replicas > 2"), Ok(true));
        assert_eq!(check("'c' in request.userInfo.groups"), Ok(false));
        let missing = "expression 'object.data.missing' resulted in error: no such key: data";
        assert_eq!(check("object.data.missing"), Err(missing.to_owned()));
        assert!(check("object.spec.replicas").is_err_and(|e| e.contains("no bool")));
        assert!(Condition::parse("object.").is_err());
        let nested = |depth: usize| Condition::parse(&format!("{}true{}", "(".repeat(depth), ")".repeat(depth)));
        assert_eq!(nested(64).unwrap().holds(&[]), Ok(true));
        assert!(nested(65).unwrap_err().contains("expression recursion limit exceeded: 64"));
        assert!(nested(100_000).is_err());
        let closed_in_texts = format!("{}true", "(')' == ".repeat(100_000));
        assert!(Condition::parse(&closed_in_texts).unwrap_err().contains("recursion limit"));
        let message = Condition::parse("true || object.b{}.c").unwrap_err();
        assert_eq!(message, "undeclared reference to 'object.b' (in container '')");
        let condition = Condition::parse("object.a == request.b").unwrap();
        assert!(condition.uses("object") && condition.uses("request") && !condition.uses("authorizer"));
    }
}
