// Adds a passkey on the page of sessions, and logs in with one. The server shows why it refuses one.
'use strict';
(() => {
  const kind = window.PublicKeyCredential, form = document.querySelector('form[data-passkey]');
  if (!form || !kind || !kind.parseCreationOptionsFromJSON || !kind.parseRequestOptionsFromJSON) return;
  const adds = form.dataset.passkey === 'add', login = document.getElementById('login'), field = form.elements.credential;
  const say = text => { form.querySelector('[role=status]').textContent = text; };
  const begin = () => {
    const url = form.getAttribute('action') + '/begin';
    return adds ? window.almoner.post(url, new URLSearchParams(new FormData(form))) : fetch(url, { method: 'POST' });
  };
  const ask = demands => adds
    ? navigator.credentials.create({ publicKey: kind.parseCreationOptionsFromJSON(demands) })
    : navigator.credentials.get({ publicKey: kind.parseRequestOptionsFromJSON(demands) });
  form.hidden = false;
  let asks = false, sends = false;
  // A page that the browser brings back has another challenge.
  addEventListener('pageshow', () => { field.value = ''; });
  form.addEventListener('submit', async event => {
    if (sends || field.value) return;
    event.preventDefault();
    if (asks) return;
    asks = true;
    say('');
    try {
      const answer = await begin();
      // Without a challenge, the form tells the server's reason.
      if (answer.ok) field.value = JSON.stringify(await ask(await answer.json()));
      if (login) {
        const key = login.elements._key.value;
        form.elements._key.value = key;
        form.elements.to.value = login.elements.to.value;
        // As for a code: only the next page shows whether the login has succeeded.
        sessionStorage.setItem('drawn key', key);
      }
      sends = true;
      form.requestSubmit();
      sends = false;
    } catch (error) {
      say(error.name === 'InvalidStateError' ? 'This device has a passkey for these pages.' : 'No passkey came, and nothing was done.');
    }
    asks = false;
  });
})();
