// Logs in by itself with a link that ends in /login#token=…: what follows the # never leaves the browser in an address.

function logInByLink() {
  const form = document.getElementById('login');
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (form && token) {
    // Out of the address bar and the history before anything else happens.
    history.replaceState(null, '', location.pathname);
    form.elements.token.value = token;
    form.requestSubmit();
  }
}

// Also when the link is opened while the page is already there: then nothing is loaded anew.
addEventListener('hashchange', logInByLink);
logInByLink();
