//! URLs for the realm. The functions get and return texts, and keep no state.

use std::rc::Rc;

use passable::Text;
use rquickjs::{Array, Ctx, Result, Value};
use url::{Url, form_urlencoded, quirks};

use super::natives::Args;
use crate::engine::VatState;
use crate::pass::raw;

fn parts<'js>(ctx: &Ctx<'js>, url: &Url) -> Result<Value<'js>> {
    let all = [
        quirks::href(url).to_owned(),
        quirks::origin(url),
        quirks::protocol(url).to_owned(),
        quirks::username(url).to_owned(),
        quirks::password(url).to_owned(),
        quirks::host(url).to_owned(),
        quirks::hostname(url).to_owned(),
        quirks::port(url).to_owned(),
        quirks::pathname(url).to_owned(),
        quirks::search(url).to_owned(),
        quirks::hash(url).to_owned(),
    ];
    let made = Array::new(ctx.clone())?;
    for (index, part) in all.into_iter().enumerate() {
        made.set(index, raw::string(ctx, &Text::from(part))?)?;
    }
    Ok(made.into_value())
}

/// Implements `parseUrl(href, base)`. Returns the parts of the URL, or `undefined` if it is invalid.
pub(super) fn parse<'js>(ctx: &Ctx<'js>, _: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let base = match args.at(1).is_undefined() {
        true => None,
        false => match Url::parse(&args.lossy(1)?) {
            Ok(base) => Some(base),
            Err(_) => return Ok(Value::new_undefined(ctx.clone())),
        },
    };
    match Url::options().base_url(base.as_ref()).parse(&args.lossy(0)?) {
        Ok(url) => parts(ctx, &url),
        Err(_) => Ok(Value::new_undefined(ctx.clone())),
    }
}

/// Implements `setUrl(href, part, value)`. Returns the parts of the changed URL. An invalid value changes nothing, as
/// on the web.
pub(super) fn set<'js>(ctx: &Ctx<'js>, _: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let (href, part, value) = (args.lossy(0)?, args.lossy(1)?, args.lossy(2)?);
    let Ok(mut url) = Url::parse(&href) else {
        return Ok(Value::new_undefined(ctx.clone()));
    };
    // If a part cannot be set, it stays unchanged, as the URL standard requires.
    let _unchanged = match part.as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value).is_err(),
        "username" => quirks::set_username(&mut url, &value).is_err(),
        "password" => quirks::set_password(&mut url, &value).is_err(),
        "host" => quirks::set_host(&mut url, &value).is_err(),
        "hostname" => quirks::set_hostname(&mut url, &value).is_err(),
        "port" => quirks::set_port(&mut url, &value).is_err(),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            false
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            false
        }
        _ => {
            quirks::set_hash(&mut url, &value);
            false
        }
    };
    parts(ctx, &url)
}

/// Implements `parseQuery(text)`. Returns the pairs of names and values.
pub(super) fn parse_query<'js>(ctx: &Ctx<'js>, _: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let text = args.lossy(0)?;
    let made = Array::new(ctx.clone())?;
    for (index, (name, value)) in form_urlencoded::parse(text.as_bytes()).enumerate() {
        let pair = Array::new(ctx.clone())?;
        pair.set(0, raw::string(ctx, &Text::from(name))?)?;
        pair.set(1, raw::string(ctx, &Text::from(value))?)?;
        made.set(index, pair)?;
    }
    Ok(made.into_value())
}

/// Implements `queryText(pairs)`. Returns the query text. The pairs come from the prelude, not from guest code.
pub(super) fn query_text<'js>(ctx: &Ctx<'js>, _: &Rc<VatState>, args: Args<'js>) -> Result<Value<'js>> {
    let mut out = form_urlencoded::Serializer::new(String::new());
    if let Some(pairs) = args.at(0).as_array() {
        for pair in pairs.iter::<Array<'js>>() {
            let pair = pair?;
            let name = raw::text(ctx, &pair.get::<Value<'js>>(0)?)?;
            let value = raw::text(ctx, &pair.get::<Value<'js>>(1)?)?;
            out.append_pair(&name.to_str_lossy(), &value.to_str_lossy());
        }
    }
    raw::string(ctx, &Text::from(out.finish()))
}
