//! RS256 by the runtime's own cryptography.

use conclave_shared::oidc::{ALGORITHM, PublicKey};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Crypto, CryptoKey};
use worker::{
    Error, Result,
    js_sys::{Array, Object, Reflect, global},
    wasm_bindgen_futures::JsFuture,
};

/// Returns whether a key has made this signature. A key that cannot be used has made none.
pub(super) async fn fits(key: &PublicKey, signed: &[u8], signature: &[u8]) -> Result<bool> {
    let crypto: Crypto = Reflect::get(&global(), &"crypto".into())?.unchecked_into();
    let subtle = crypto.subtle();
    let algorithm = object(&[("name", "RSASSA-PKCS1-v1_5"), ("hash", "SHA-256")])?;
    let jwk = object(&[
        ("kty", "RSA"),
        ("alg", ALGORITHM),
        ("n", &key.modulus),
        ("e", &key.exponent),
    ])?;
    let usages = Array::of1(&"verify".into());
    let importing = subtle.import_key_with_object("jwk", &jwk, &algorithm, false, &usages)?;
    let Ok(imported) = JsFuture::from(importing).await else {
        return Ok(false);
    };
    let imported: CryptoKey = imported.unchecked_into();
    let verifying = subtle.verify_with_object_and_u8_array_and_u8_array(&algorithm, &imported, signature, signed)?;
    let fits = JsFuture::from(verifying).await.map_err(Error::from)?;
    Ok(fits == JsValue::TRUE)
}

fn object(fields: &[(&str, &str)]) -> Result<Object> {
    let object = Object::new();
    for (name, value) in fields {
        Reflect::set(&object, &(*name).into(), &(*value).into())?;
    }
    Ok(object)
}
