//! Client of the OCI distribution API, for pulling and pushing small artifacts.
//!
//! # Source
//!
//! OCI distribution specification 1.1; docker's token specification for logins.

mod connector;
pub(super) mod login;
pub(super) mod transport;

use super::artifact::Descriptor;
use super::reference::{Digest, Reference};
use super::{Error, MANIFEST_BYTES, artifact};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use login::Logins;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use transport::{Answer, Asked, Call, Transport};
use url::Url;

/// Most pages of referrers.
const REFERRER_PAGES: usize = 4;

/// Deadline of a whole upload or download.
const FILE: Duration = Duration::from_secs(600);

/// Configuration of the client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Docker's configuration file, for logins; the default is docker's own location.
    pub config: Option<PathBuf>,
    /// Additional trusted certificates in PEM. With them, the client uses TLS also for registries on loopback.
    pub ca: Option<PathBuf>,
    /// Longest silence of a registry.
    pub timeout: Duration,
}

/// Client for registries: https, and plain http only for a registry on loopback.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    logins: Logins,
    plain_loopback: bool,
}

impl Client {
    /// # Errors
    ///
    /// The certificates cannot be read.
    pub fn new(options: ClientOptions) -> Result<Self, Error> {
        let plain_loopback = options.ca.is_none();
        let transport = Transport::new(options.ca.as_deref(), options.timeout)?;
        Ok(Self { transport, logins: Logins::new(options.config), plain_loopback })
    }

    /// The digest of a tag, without reading the manifest. None: the registry sends no such header.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn resolve(&self, reference: &Reference) -> Result<Option<Digest>, Error> {
        let call = self.manifest_call(Method::HEAD, reference)?;
        match self.ask(&call).await {
            Ok(response) => digest_header(response.headers()).map_err(Error::Artifact),
            Err(Error::Status { status: 405 | 501, .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The manifest of a reference, and its digest.
    ///
    /// # Errors
    ///
    /// See [`Error`]; also when its bytes do not match the digest in the reference or in the response.
    pub async fn manifest(&self, reference: &Reference) -> Result<(Digest, Bytes), Error> {
        let call = self.manifest_call(Method::GET, reference)?;
        let response = self.ask(&call).await?;
        let promised = digest_header(response.headers()).map_err(Error::Artifact)?;
        let bytes = self.transport.whole(&call.asked, response, MANIFEST_BYTES).await?;
        let found = Digest::of(&bytes);
        for wanted in [reference.digest(), promised.as_ref()].into_iter().flatten() {
            if *wanted != found {
                return Err(Error::Digest { what: call.asked.what, wanted: wanted.clone(), found });
            }
        }
        Ok((found, bytes))
    }

    fn manifest_call(&self, method: Method, reference: &Reference) -> Result<Call<'static>, Error> {
        let name = reference.digest().map_or_else(|| reference.tag().to_owned(), ToString::to_string);
        let mut call =
            self.call(method, reference, &format!("manifests/{name}"), &format!("manifest of {reference}"))?;
        call.accept = artifact::MANIFESTS;
        Ok(call)
    }

    /// Writes a blob to a new file, and checks length and digest.
    ///
    /// # Errors
    ///
    /// See [`Error`]; the content of the file is undefined then.
    pub async fn blob(&self, reference: &Reference, blob: &Descriptor, to: &Path) -> Result<(), Error> {
        let what = format!("blob {} of {reference}", blob.digest);
        let io = |e: std::io::Error| Error::File { path: to.to_owned(), reason: e.to_string() };
        let call = self.call(Method::GET, reference, &format!("blobs/{}", blob.digest), &what)?;
        let arriving = async {
            let mut file = tokio::fs::File::create(to).await.map_err(io)?;
            let mut body = self.ask(&call).await?.into_body();
            let (mut hasher, mut found) = (Sha256::new(), 0_u64);
            while let Some(piece) = self.transport.piece(&call.asked, &mut body).await? {
                found += piece.len() as u64;
                if found > blob.size {
                    return Err(Error::Length { what: what.clone(), wanted: blob.size, found: blob.size + 1 });
                }
                hasher.update(&piece);
                file.write_all(&piece).await.map_err(io)?;
            }
            if found != blob.size {
                return Err(Error::Length { what: what.clone(), wanted: blob.size, found });
            }
            let found = Digest::finish(hasher);
            if found != blob.digest {
                return Err(Error::Digest { what: what.clone(), wanted: blob.digest.clone(), found });
            }
            file.sync_all().await.map_err(io)
        };
        tokio::time::timeout(FILE, arriving).await.unwrap_or_else(|_late| Err(call.asked.timed_out(FILE)))
    }

    /// A blob of a few bytes, up to the size in its descriptor.
    ///
    /// # Errors
    ///
    /// As for [`Client::blob`].
    pub async fn small_blob(&self, reference: &Reference, blob: &Descriptor) -> Result<Bytes, Error> {
        let what = format!("blob {} of {reference}", blob.digest);
        let call = self.call(Method::GET, reference, &format!("blobs/{}", blob.digest), &what)?;
        let response = self.ask(&call).await?;
        let bytes = self.transport.whole(&call.asked, response, blob.size.min(MANIFEST_BYTES)).await?;
        let found = Digest::of(&bytes);
        if found != blob.digest {
            return Err(Error::Digest { what, wanted: blob.digest.clone(), found });
        }
        Ok(bytes)
    }

    /// The pages of the referrers index of a manifest. For a registry without the referrers API, this is the index that clients maintain
    /// under a tag.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn referrers(&self, reference: &Reference, subject: &Digest) -> Result<Vec<Bytes>, Error> {
        let what = format!("referrers of {reference}");
        let mut call = self.call(Method::GET, reference, &format!("referrers/{subject}"), &what)?;
        call.accept = artifact::INDEX;
        let mut pages = Vec::new();
        loop {
            let response = match self.ask(&call).await {
                Ok(response) => response,
                Err(e) if pages.is_empty() && knows_no_such_api(&e) => {
                    return self.tagged_referrers(reference, subject).await;
                }
                Err(e) => return Err(e),
            };
            if pages.is_empty() && is_web_page(response.headers()) {
                return self.tagged_referrers(reference, subject).await;
            }
            let next = next_page(response.headers(), &call.url);
            pages.push(self.transport.whole(&call.asked, response, MANIFEST_BYTES).await?);
            match next.filter(|_| pages.len() < REFERRER_PAGES) {
                Some(url) => call.url = url,
                None => return Ok(pages),
            }
        }
    }

    async fn tagged_referrers(&self, reference: &Reference, subject: &Digest) -> Result<Vec<Bytes>, Error> {
        match self.manifest(&reference.tagged(format!("sha256-{}", subject.hex()))).await {
            Ok((_, index)) => Ok(vec![index]),
            Err(Error::NotFound { .. }) => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }

    /// Uploads a blob, unless the repository already has it.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn push_blob(&self, reference: &Reference, bytes: Bytes) -> Result<Digest, Error> {
        let digest = Digest::of(&bytes);
        let what = format!("upload of {digest} to {reference}");
        let mut call = self.call(Method::HEAD, reference, &format!("blobs/{digest}"), &what)?;
        call.push = true;
        match self.ask(&call).await {
            Ok(_there) => return Ok(digest),
            Err(Error::NotFound { .. }) => {}
            Err(e) => return Err(e),
        }
        let mut call = self.call(Method::POST, reference, "blobs/uploads/", &what)?;
        call.push = true;
        let response = self.ask(&call).await?;
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let next = location.and_then(|location| call.url.join(location).ok());
        let refuse =
            |reason: String| Error::Redirect { what: what.clone(), registry: call.asked.registry.clone(), reason };
        let mut next = next.ok_or_else(|| refuse("it names no place for the upload".to_owned()))?;
        if next.origin() != call.url.origin() {
            return Err(refuse(format!("the upload is to go to {}", next.origin().ascii_serialization())));
        }
        next.query_pairs_mut().append_pair("digest", &digest.to_string());
        call.url = next;
        call.method = Method::PUT;
        call.content = Some(("application/octet-stream", bytes));
        call.timeout = Some(FILE);
        self.ask(&call).await?;
        Ok(digest)
    }

    /// Stores a manifest under a tag, or under its digest.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn push_manifest(&self, reference: &Reference, manifest: Bytes) -> Result<Digest, Error> {
        let mut call = self.manifest_call(Method::PUT, reference)?;
        call.push = true;
        let wanted = Digest::of(&manifest);
        call.content = Some((artifact::MANIFEST, manifest));
        let response = self.ask(&call).await?;
        match digest_header(response.headers()).map_err(Error::Artifact)? {
            Some(found) if found != wanted => Err(Error::Digest { what: call.asked.what, wanted, found }),
            _ => Ok(wanted),
        }
    }

    fn call(&self, method: Method, reference: &Reference, path: &str, what: &str) -> Result<Call<'static>, Error> {
        let plain = self.plain_loopback && reference.is_loopback();
        // The API of Docker Hub has another host name than its registry.
        let host = if reference.registry() == "docker.io" { "registry-1.docker.io" } else { reference.registry() };
        let scheme = if plain { "http" } else { "https" };
        let url = format!("{scheme}://{host}/v2/{}/{path}", reference.repository());
        let asked = Asked { what: what.to_owned(), registry: reference.registry().to_owned() };
        let url = Url::parse(&url).map_err(|e| asked.unreachable(e.to_string()))?;
        Ok(Call {
            asked,
            method,
            url,
            accept: "*/*",
            content: None,
            push: false,
            repository: reference.repository().to_owned(),
            timeout: None,
            plain,
        })
    }

    /// Sends a request, and repeats it once with a login if the registry asks for one.
    async fn ask(&self, call: &Call<'_>) -> Result<Answer, Error> {
        let known = self.logins.known(call);
        let response = self.transport.send(call, known.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return self.transport.checked(&call.asked, response).await;
        }
        let authorization = self.logins.login(&self.transport, call, response.headers()).await?;
        let response = self.transport.send(call, Some(&authorization)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            self.logins.forget(call);
        }
        self.transport.checked(&call.asked, response).await
    }
}

/// Whether the response is a page for browsers, with which registries without the referrers API may answer.
fn is_web_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
}

/// Whether the response may come from a registry without the referrers API: not all of them answer 404.
fn knows_no_such_api(error: &Error) -> bool {
    match error {
        Error::NotFound { .. } | Error::Unauthorized { .. } | Error::Forbidden { .. } => true,
        Error::Status { status, .. } => *status < 500 || *status == 501,
        _ => false,
    }
}

/// The URL of a list's next page, if any; never on another server.
pub(super) fn next_page(headers: &HeaderMap, url: &Url) -> Option<Url> {
    let link = headers.get(header::LINK)?.to_str().ok()?;
    let (target, parameters) = link.trim_start().strip_prefix('<')?.split_once('>')?;
    let is_next = parameters.split([';', ',']).map(str::trim).any(|one| one == "rel=\"next\"" || one == "rel=next");
    url.join(target).ok().filter(|next| is_next && next.origin() == url.origin())
}

/// The digest in a response's header. None: no such header.
pub(super) fn digest_header(headers: &HeaderMap) -> Result<Option<Digest>, String> {
    let Some(value) = headers.get("docker-content-digest") else { return Ok(None) };
    value.to_str().map_err(|e| e.to_string())?.parse().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_at_the_same_registry() {
        let url = Url::parse("https://r.example/v2/a/referrers/sha256:1").unwrap();
        let next = |link: &str| {
            next_page(&HeaderMap::from_iter([(header::LINK, link.parse().unwrap())]), &url).map(|url| url.to_string())
        };
        let second = Some("https://r.example/v2/a/referrers/sha256:1?last=x".to_owned());
        assert_eq!(next("</v2/a/referrers/sha256:1?last=x>; rel=\"next\""), second);
        assert_eq!(next("<https://r.example/v2/a/referrers/sha256:1?last=x>;rel=next"), second);
        for other in ["</v2/x>; rel=\"prev\"", "<https://elsewhere.example/>; rel=\"next\"", "<", "<>", "x", ""] {
            assert_eq!(next(other), None, "{other}");
        }
    }
}
