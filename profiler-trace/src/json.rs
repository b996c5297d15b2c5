//! Values whose form in JSON is not that of their types.

use profiler_wire::SiteKind;
use profiler_wire::site::Buffer;
use serde::{Deserialize, Serialize};

/// Floating-point numbers. JSON has no infinity and no NaN; these are strings.
pub(crate) mod float {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a number")]
    enum Form {
        Number(f64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        if number.is_finite() { to.serialize_f64(*number) } else { to.collect_str(number) }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        match Form::deserialize(from)? {
            Form::Number(number) => Ok(number),
            Form::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// [`float`], or null.
pub(crate) mod optional_float {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Serialize, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Float(#[serde(with = "super::float")] f64);

    pub(crate) fn serialize<S: Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        number.map(Float).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        Ok(Option::<Float>::deserialize(from)?.map(|Float(number)| number))
    }
}

/// A strategy by its code, or null.
pub(crate) mod strategy {
    use profiler_wire::Strategy;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        strategy: &Option<Strategy>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        strategy.map(Strategy::code).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Strategy>, D::Error> {
        let code = Option::<u16>::deserialize(from)?;
        let known = |code| Strategy::from_code(code).ok_or(code);
        code.map(known)
            .transpose()
            .map_err(|code| D::Error::custom(format_args!("{code} is not the code of a strategy")))
    }
}

/// The kind of a site, by its name.
#[derive(Serialize, Deserialize)]
#[serde(remote = "SiteKind", rename_all = "lowercase")]
pub(crate) enum Kind {
    Kernel,
    Region,
    Mark,
    Signal,
    Wait,
    Names,
}

/// A buffer, by its name.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Buffer", rename_all = "lowercase")]
pub(crate) enum BufferName {
    Global,
    Host,
}
