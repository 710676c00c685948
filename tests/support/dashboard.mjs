// The dashboard over HTTP, without following redirects: they are what a test looks at.

import assert from 'node:assert/strict';

/** A client of one tracker's dashboard. */
export function client(url) {
  const get = (path, { cookie, ...init } = {}) =>
    fetch(url + path, { redirect: 'manual', ...init, headers: { ...(cookie ? { cookie } : {}), ...init.headers } });
  // As a browser does it: with the page's own origin.
  const post = (path, form, headers = {}) =>
    fetch(url + path, { method: 'POST', redirect: 'manual', body: new URLSearchParams(form), headers: { origin: url, ...headers } });
  /** Logs in and returns the session's cookie. */
  const logIn = async (token = 'new-token') => {
    const response = await post('/login', { token });
    assert.equal(response.status, 303);
    return response.headers.get('set-cookie').split(';')[0];
  };
  /** The text of a page that has to be there. */
  const text = async (path, cookie) => {
    const response = await get(path, { cookie });
    assert.equal(response.status, 200);
    return response.text();
  };
  return { get, post, logIn, text };
}
