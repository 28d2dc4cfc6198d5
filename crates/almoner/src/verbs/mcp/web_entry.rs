//! One server at an address from the settings of another agent: its address, and its headers as keys, texts or secrets.

use passable::shell_word;
use serde_json::Value as Json;

use super::entry::Reading;
use super::placeholders;
use super::secret_words::{holds_secret, secret_name};
use config::mcp_file::Server;
use resource::secret::PREFIX as SECRET;

impl Reading<'_> {
    /// Returns the server at an address, with the headers of the entry and those of a command line.
    ///
    /// # Errors
    /// The reason why the address cannot be taken over.
    pub(super) fn web(
        &mut self,
        entry: &Json,
        url: &str,
        more: &[(String, String)],
    ) -> Result<Server, String> {
        let name = &self.name;
        let no_place = format!(
            "looks like a secret, and addresses are no place for one; if the server takes a header instead, put the key into the \
             vault: `almoner secret set {name}-key --for https://HOST`, then `almoner mcp add {name} https://HOST/PATH --key {name}-key`"
        );
        // Not even if the user gives the value: it would be stored in plain.
        if let Some(place) = self.secret_place(url) {
            return Err(format!("its address takes `{place}`, which {no_place}"));
        }
        let filled = self.fill(url)?;
        if holds_secret("", &filled.text) {
            return Err(format!("a part of its address {no_place}"));
        }
        // A file of somebody else would have a part of this machine sent to an address of its choice.
        if let Some(name) = filled.own.first() {
            return Err(self.not_sent("address", name));
        }
        let url = filled.text;
        let speaks = |name: &str| entry.get(name).and_then(Json::as_str);
        if [speaks("type"), speaks("transport"), speaks("transportType")].contains(&Some("sse")) {
            return Err("it speaks the old form with an event stream of its own, which is not spoken here; many such servers \
                        have an address for the newer form beside it, often `/mcp`"
                .to_owned());
        }
        if url.ends_with("/sse") {
            self.notes.push("its address looks like one for the old form, which is not spoken here; try `/mcp` if it does not answer".to_owned());
        }
        let (place, query) = url.split_once('?').unwrap_or((&url, ""));
        let origin = resource::web::Place::parse(place).map_err(|e| e.to_string())?.origin;
        let key_in_query = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(name, value)| holds_secret(name, value));
        if let Some((name, _)) = key_in_query {
            return Err(format!(
                "its address has a key in it (`{name}`), and addresses are no place for one; if the server takes a header instead: `almoner mcp add {} {} --key SECRET`",
                self.name,
                shell_word(place)
            ));
        }
        let is_here =
            origin.host.to_string() == "localhost" || origin.host.to_string().ends_with(".localhost");
        let address = is_here.then(|| "127.0.0.1".to_owned());
        let mut server = Server { url: Some(url.clone()), address, ..Server::default() };
        let own = ["headers", "http_headers", "requestInit", "requestOptions"]
            .iter()
            .find_map(|name| entry.get(*name)?.as_object());
        let own = own.map(|own| own.get("headers").and_then(Json::as_object).unwrap_or(own));
        let own = own.into_iter().flatten().map(|(name, value)| {
            (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let of_variables = entry.get("env_http_headers").and_then(Json::as_object).into_iter().flatten();
        let of_variables = of_variables
            .filter_map(|(name, variable)| Some((name.clone(), format!("${{{}}}", variable.as_str()?))));
        for (name, value) in own.chain(of_variables).chain(more.iter().cloned()) {
            self.header(&mut server, &name, &value, &origin.to_string());
        }
        if let Some(variable) = speaks("bearer_token_env_var") {
            let secret = secret_name(&[variable]);
            self.notes.push(format!("its key: `almoner secret set {secret} --for {origin}`"));
            server.key = Some(secret);
        }
        if entry.get("headersHelper").is_some() {
            self.notes
                .push("`headersHelper` is not followed: its headers have to be added by hand".to_owned());
        }
        Ok(server)
    }

    /// Adds a header. A header with a secret becomes the name of a secret.
    fn header(&mut self, server: &mut Server, name: &str, value: &str, origin: &str) {
        let lower = name.to_ascii_lowercase();
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if lower.is_empty() || !lower.bytes().all(is_letter) {
            self.notes.push(format!("its header `{name}` is left out: no header can have this name"));
            return;
        }
        // The client says these itself.
        if ["accept", "content-type", "user-agent", "mcp-protocol-version"].contains(&lower.as_str()) {
            return;
        }
        let places = placeholders::names(value);
        let is_key =
            lower == "authorization" || holds_secret(&lower, value) || self.secret_place(value).is_some();
        if !is_key
            && let Ok(filled) = self.places.fill(value)
            && !holds_secret(&lower, &filled.text)
        {
            if !filled.own.is_empty() {
                let own = filled.own.join("`, `");
                self.notes.push(format!("its header {name} sends `{own}` from your environment there"));
            }
            server.headers.insert(lower, filled.text);
            return;
        }
        let secret = match places.as_slice() {
            [place] => secret_name(&[place]),
            _ if lower == "authorization" => secret_name(&[&self.name, "KEY"]),
            _ => secret_name(&[&self.name, name]),
        };
        let is_bearer = lower == "authorization"
            && value.get(..7).is_none_or(|word| word.eq_ignore_ascii_case("bearer "));
        if is_bearer {
            self.notes.push(format!("its header {name} was not copied: `almoner secret set {secret} --for {origin}`, without `Bearer`"));
            server.key = Some(secret);
        } else {
            self.notes.push(format!("its header {name} was not copied: `almoner secret set {secret} --for {origin}`, the whole value"));
            server.headers.insert(lower, format!("{SECRET}{secret}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::verbs::mcp::entry::tests::read;

    /// Other programs send the standard header alone (metatool-ai/metamcp#161, zai-org/feedback#45,
    /// envoyproxy/ai-gateway#2693).
    #[test]
    fn headers_become_keys_texts_or_secrets() {
        for (headers, key, others) in [
            (json!({ "Authorization": "Bearer abcdef" }), Some("SRV_KEY"), json!({})),
            (json!({ "authorization": "${TOKEN}" }), None, json!({ "authorization": "secret:TOKEN" })),
            (json!({ "Authorization": "Bearer ${TOKEN}" }), Some("TOKEN"), json!({})),
            (json!({ "Authorization": "Basic abcdef" }), None, json!({ "authorization": "secret:SRV_KEY" })),
            // mcpjungle/MCPJungle#178: another word before the key, and a second header.
            (
                json!({ "Authorization": "token 1234567", "Foo": "Bar" }),
                None,
                json!({ "authorization": "secret:SRV_KEY", "foo": "Bar" }),
            ),
            (json!({ "X-Api;id;Key": "abcd1234", "": "a", "X Y": "b" }), None, json!({})),
            (json!({ "X-Region": "eu", "Accept": "a/b" }), None, json!({ "x-region": "eu" })),
            (json!({ "X-Region": "${REGION}" }), None, json!({ "x-region": "eu" })),
            (json!({ "X-Api-Key": "abcd1234" }), None, json!({ "x-api-key": "secret:SRV_X_API_KEY" })),
            (
                json!({ "Authorization": "Bearer a", "X-Team": "t", "X-Auth-Token": "${input:team-token}" }),
                Some("SRV_KEY"),
                json!({ "x-team": "t", "x-auth-token": "secret:TEAM_TOKEN" }),
            ),
        ] {
            let taken = read("srv", json!({ "url": "https://a.example/mcp", "headers": headers })).unwrap();
            assert_eq!(taken.server.key.as_deref(), key, "{headers}");
            assert_eq!(serde_json::to_value(&taken.server.headers).unwrap(), others, "{headers}");
            assert_eq!(
                taken.notes.iter().filter(|note| note.contains("--for https://a.example`")).count(),
                usize::from(key.is_some()) + others.to_string().matches("secret:").count()
            );
        }
        let codex = json!({ "url": "https://a.example", "bearer_token_env_var": "FIG_TOKEN", "env_http_headers": { "X-Org": "REGION" } });
        let taken = read("srv", codex).unwrap().server;
        assert_eq!((taken.key.as_deref(), taken.headers["x-org"].as_str()), (Some("FIG_TOKEN"), "eu"));
    }
}
