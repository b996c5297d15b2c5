//! JSON that is read member by member, with the path of what is wrong.

use serde_json::Value;

/// A floating-point number; JSON has no infinity and no NaN.
pub(crate) fn float(number: f64) -> Value {
    if number.is_finite() { number.into() } else { number.to_string().into() }
}

/// A value inside the metadata, and where it stands there.
#[derive(Clone)]
pub(crate) struct Member<'v> {
    value: &'v Value,
    path: String,
}

impl<'v> Member<'v> {
    pub(crate) fn root(value: &'v Value) -> Self {
        Self { value, path: String::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Result<Self, String> {
        let path = format!("{}.{name}", self.path);
        match self.value.get(name) {
            Some(value) => Ok(Self { value, path }),
            None => Err(format!("{path} is missing")),
        }
    }

    /// `None` of null.
    pub(crate) fn option(&self) -> Option<Self> {
        (!self.value.is_null()).then(|| self.clone())
    }

    pub(crate) fn array(&self) -> Result<Vec<Self>, String> {
        let elements = self.value.as_array().ok_or_else(|| self.wrong("an array"))?;
        let member = |(index, value)| Self { value, path: format!("{}[{index}]", self.path) };
        Ok(elements.iter().enumerate().map(member).collect())
    }

    pub(crate) fn string(&self) -> Result<String, String> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wrong("a string"))
    }

    pub(crate) fn bool(&self) -> Result<bool, String> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub(crate) fn u64(&self) -> Result<u64, String> {
        self.value.as_u64().ok_or_else(|| self.wrong("a whole number"))
    }

    pub(crate) fn u32(&self) -> Result<u32, String> {
        self.u64()?.try_into().map_err(|_| self.wrong("a number below 2^32"))
    }

    pub(crate) fn f64(&self) -> Result<f64, String> {
        let number = match self.value {
            Value::String(text) => text.parse().ok(),
            value => value.as_f64(),
        };
        number.ok_or_else(|| self.wrong("a number"))
    }

    pub(crate) fn wrong(&self, expected: &str) -> String {
        format!("{} is not {expected}", self.path)
    }
}
