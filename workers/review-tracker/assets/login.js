// Fills in the token of a link that ends in /login#token=…: what follows the # never leaves the browser in an address. Sending it is
// a person's step: no page, preview or image logs anybody in by opening an address.

function fillInFromLink() {
  const form = document.getElementById('login');
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (location.hash || location.search) {
    // Out of the address bar and the history before anything else happens.
    history.replaceState(null, '', location.pathname);
  }
  if (form && token) {
    form.elements.token.value = token;
    document.getElementById('by-link').hidden = false;
    form.querySelector('button').focus();
  }
}

// Also when the link is opened while the page is already there: then nothing is loaded anew.
addEventListener('hashchange', fillInFromLink);
fillInFromLink();
