// Keeps pages up to date, keeps what is typed, and checks fields early. Every page is whole without it.
'use strict';
(() => {
  const body = document.body, say = document.getElementById('link');
  const $$ = (what, within = document) => [...within.querySelectorAll(what)];
  const KEY = 'almoner-key', SETTLE = 600;

  // ---- Letting this browser in -------------------------------------------------------------------------------
  const login = document.getElementById('login');
  if (login) {
    const [, code, to] = /^#([0-9a-f]+)(\/.*)?$/.exec(location.hash) || [];
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    const key = [...bytes].map(b => b.toString(16).padStart(2, '0')).join('');
    login.addEventListener('submit', () => localStorage.setItem(KEY, key));
    login.elements._key.value = key;
    if (code) {
      login.elements.code.value = code;
      login.elements.to.value = to || '/';
      history.replaceState(null, '', '/login');
      login.requestSubmit();
    }
    return;
  }

  // What changes something carries a key that the cookie does not have.
  const sign = form => {
    let field = form.elements._key;
    if (!field) {
      field = document.createElement('input');
      field.type = 'hidden';
      field.name = '_key';
      form.append(field);
    }
    field.value = localStorage.getItem(KEY) || '';
  };
  addEventListener('submit', event => {
    const form = event.target;
    if (form.method !== 'post') return;
    if (event.submitter && event.submitter.getAttribute('aria-disabled') === 'true') return event.preventDefault();
    sign(form);
    if (!event.submitter || !event.submitter.formNoValidate) drafts.drop(form);
  }, true);

  // ---- Markup comes from our own pages only --------------------------------------------------------------------
  const own = window.trustedTypes
    ? trustedTypes.createPolicy('almoner', { createHTML: text => text })
    : { createHTML: text => text };
  const parse = text => new DOMParser().parseFromString(own.createHTML(text), 'text/html');

  // ---- A page brought up to date in place: what is focused or written in stays as it is -----------------------
  const held = node => node.nodeType === 1 && (node.contains(document.activeElement) || $$('[data-dirty]', node).length > 0 || node.matches('[data-dirty]'));
  const fields = 'input,textarea,select';
  const morph = (old, now) => {
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || (old.id || '') !== (now.id || '')) {
      if (held(old)) return stale(old);
      old.replaceWith(document.adoptNode(now));
      return;
    }
    if (old.nodeType !== 1) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    // What a model writes comes by the stream of events alone.
    if (old.isEqualNode(now) || (old.matches('[data-streamed]') && now.matches('[data-streamed]'))) return;
    if (old.dataset.same && old.dataset.same === now.dataset.same) return;
    if (old.matches('form[data-weighty]') && held(old)) return stale(old);
    const field = old.matches(fields);
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && !name.startsWith('data-') && !(name === 'open' && old.matches('details')) && name !== 'aria-disabled') old.removeAttribute(name);
    for (const { name, value } of [...now.attributes]) if (old.getAttribute(name) !== value && !(name === 'open' && old.matches('details')) && !(field && name === 'value' && old.dataset.dirty)) old.setAttribute(name, value);
    if (field && old.nodeName !== 'SELECT') return;
    children(old, now);
  };
  const children = (old, now) => {
    const byId = new Map([...old.children].filter(c => c.id).map(c => [c.id, c]));
    let at = old.firstChild;
    for (const next of [...now.childNodes]) {
      const same = next.nodeType === 1 && next.id ? byId.get(next.id) : null;
      if (same) {
        if (same !== at) old.insertBefore(same, at);
        else at = at.nextSibling;
        morph(same, next);
      } else if (at && !(at.nodeType === 1 && at.id && byId.has(at.id) && now.querySelector('#' + CSS.escape(at.id)))) {
        const here = at;
        at = at.nextSibling;
        morph(here, next);
      } else old.insertBefore(document.adoptNode(next), at);
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      if (held(gone)) stale(gone); else gone.remove();
    }
  };
  // What has changed under somebody's hands is not taken away: they are told.
  const stale = node => {
    const near = node.closest('[data-live]') || node.parentElement;
    if (!near || near.querySelector(':scope > .stale')) return;
    const strip = document.createElement('p'), show = document.createElement('button');
    strip.className = 'stale';
    strip.setAttribute('role', 'status');
    strip.textContent = 'This has changed while you were here. ';
    show.type = 'button';
    show.textContent = 'Show it as it is now';
    show.addEventListener('click', () => location.reload());
    strip.append(show);
    near.prepend(strip);
  };

  let asking = false, again = false;
  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
      if (answer.status === 401) return tell('your session is over: `almoner open` opens another', true);
      const page = parse(await answer.text());
      for (const region of $$('[data-live]')) {
        const now = page.getElementById(region.id);
        if (now) morph(region, now);
      }
      body.dataset.after = page.body.dataset.after;
      settle();
    } catch (_) { tell('offline: what you see may be old', true); }
    asking = false;
    if (again) { again = false; later(); }
  };
  let timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(refresh, 40); };

  // ---- What happens, as it happens: one tab listens and tells the others ---------------------------------------
  const tell = (text, bad) => { if (say) { say.textContent = text; say.classList.toggle('bad', !!bad); } };
  const topics = new Set((body.dataset.topics || '').split(' ').filter(Boolean));
  const happened = what => {
    if (what.say) tell(what.say);
    const written = what.written && document.getElementById('writes-' + what.written);
    if (written) { written.textContent = ''; delete written.dataset.prompted; }
    if (what.topics.some(topic => topics.has(topic)) || topics.has('all')) later();
  };
  const streamed = what => {
    const place = document.getElementById('writes-' + what.run);
    if (!place) return;
    if (place.dataset.prompted !== String(what.prompted)) { place.dataset.prompted = what.prompted; place.textContent = ''; }
    place.append(what.text);
  };
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('almoner') : null;
  const hear = ({ kind, data }) => {
    if (kind === 'event') happened(data);
    else if (kind === 'text') streamed(data);
    else if (kind === 'progress') { const place = document.getElementById('progress-' + data.run); if (place) place.textContent = data.line; }
    else if (kind === 'up') { if (data) { tell(''); later(); } else tell('offline: what you see may be old', true); }
  };
  if (channel) channel.onmessage = event => hear(event.data);
  const share = message => { hear(message); if (channel) channel.postMessage(message); };
  const listen = () => new Promise(() => {
    const source = new EventSource('/events?after=' + body.dataset.after);
    let down = false;
    source.onopen = () => { if (down) share({ kind: 'up', data: true }); down = false; body.dataset.stream = 'up'; };
    source.onerror = () => {
      down = true;
      body.dataset.stream = 'down';
      share({ kind: 'up', data: false });
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
    };
    source.onmessage = event => share({ kind: 'event', data: JSON.parse(event.data) });
    source.addEventListener('resync', () => share({ kind: 'up', data: true }));
    for (const kind of ['text', 'progress']) source.addEventListener(kind, event => share({ kind, data: JSON.parse(event.data) }));
    addEventListener('pagehide', () => source.close());
  });
  if (navigator.locks && channel) navigator.locks.request('almoner-events', listen);
  else listen();
  addEventListener('pageshow', event => { if (event.persisted) location.reload(); });

  // ---- Weighty buttons wait until one can have read what they stand under -------------------------------------
  const settle = () => {
    for (const form of $$('form[data-weighty]')) {
      const seen = form.elements._seen ? form.elements._seen.value : '';
      const folded = $$('details[data-must-open]', form).some(one => !one.dataset.opened);
      const fresh = form.dataset.seen !== seen;
      if (fresh) {
        form.dataset.seen = seen;
        form.dataset.fresh = 'yes';
        setTimeout(() => { delete form.dataset.fresh; settle(); }, SETTLE);
      }
      for (const button of $$('button.yes', form)) {
        const not = form.dataset.fresh || folded;
        if (not) button.setAttribute('aria-disabled', 'true'); else button.removeAttribute('aria-disabled');
        button.title = folded ? 'Unfold everything above first' : '';
      }
    }
  };
  for (const one of $$('details[data-must-open]')) {
    one.open = false;
    one.addEventListener('toggle', () => { if (one.open) { one.dataset.opened = 'yes'; settle(); } });
  }
  settle();

  // ---- Drafts outlive a reload; secrets never leave their field -----------------------------------------------
  const drafts = {
    name: form => form.dataset.draft && 'draft ' + form.dataset.draft,
    keep: form => {
      const name = drafts.name(form);
      if (!name) return;
      const kept = [...form.elements].filter(one => one.name && one.dataset.dirty && !['password', 'file', 'hidden'].includes(one.type))
        .map(one => [one.name, one.type === 'checkbox' || one.type === 'radio' ? [one.value, one.checked] : one.value]);
      sessionStorage.setItem(name, JSON.stringify(kept));
    },
    drop: form => { const name = drafts.name(form); if (name) sessionStorage.removeItem(name); },
    fill: form => {
      const name = drafts.name(form), kept = name && sessionStorage.getItem(name);
      for (const [field, value] of JSON.parse(kept || '[]')) {
        const all = $$(fields, form).filter(one => one.name === field);
        for (const one of all) {
          if (Array.isArray(value)) { if (one.value === value[0]) one.checked = value[1]; }
          else if (one.type !== 'password') one.value = value;
          one.dataset.dirty = 'yes';
        }
      }
    },
  };
  for (const form of $$('form[data-draft]')) drafts.fill(form);

  // ---- Each field is checked by the daemon a little after it was written in, each by itself ---------------------
  const checks = new Map();
  const check = form => async field => {
    const known = checks.get(field) || { count: 0 };
    const count = ++known.count;
    checks.set(field, known);
    const sent = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') sent.append(name, value);
    sent.set('_field', field.name);
    sent.set('_key', localStorage.getItem(KEY) || '');
    try {
      const answer = await fetch(form.dataset.check, { method: 'POST', body: sent });
      if (!answer.ok || checks.get(field).count !== count) return;
      const now = parse(await answer.text());
      for (const one of $$('[data-error-of]', now)) {
        const place = document.getElementById(one.id);
        if (place) morph(place, one);
      }
    } catch (_) { /* The form is checked when it is sent. */ }
  };
  addEventListener('input', event => {
    const field = event.target, form = field.form;
    if (!form) return;
    field.dataset.dirty = 'yes';
    drafts.keep(form);
    if (form.dataset.check && field.name) {
      clearTimeout(field.wait);
      field.wait = setTimeout(() => check(form)(field), 150);
    }
  });

  // ---- Forms: rows come and go in place, what is left out stays out of sight, files become text --------------------
  const id = one => document.getElementById(one);
  addEventListener('click', async event => {
    const button = event.target.closest && event.target.closest('button[name=_row]');
    if (!button || !button.form) return;
    event.preventDefault();
    const form = button.form, list = button.dataset.items && id(button.dataset.items);
    if (!list) {
      const item = button.closest('.item'), more = item.parentElement.parentElement.querySelector(':scope > button[data-items]');
      item.remove();
      if (more) more.focus();
      return;
    }
    sign(form);
    const sent = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') sent.append(name, value);
    sent.append('_row', button.value);
    const answer = await fetch(form.getAttribute('action'), { method: 'POST', body: sent });
    const now = parse(await answer.text()).getElementById(list.id);
    const item = now && now.lastElementChild;
    if (!item) return tell('no row could be added: send the form', true);
    list.append(document.adoptNode(item));
    const first = item.querySelector('input:not([type=hidden]),textarea,select');
    if (first) first.focus();
  });
  addEventListener('input', event => {
    const field = event.target, count = field.id && document.querySelector('[data-counter-of="' + CSS.escape(field.id) + '"]');
    if (count) count.textContent = field.value.length > .8 * field.maxLength ? field.value.length + ' of ' + field.maxLength : '';
  });
  for (const file of $$('input[data-bytes-of]')) file.hidden = false;
  addEventListener('change', async event => {
    const of = event.target.dataset.bytesOf, place = of && id(of), file = event.target.files && event.target.files[0];
    if (!place || !file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = '';
    for (let at = 0; at < bytes.length; at += 3072) text += btoa(String.fromCharCode(...bytes.subarray(at, at + 3072)));
    place.value = text;
    place.dispatchEvent(new Event('input', { bubbles: true }));
  });

  // ---- Files that are chosen, or dropped on the page, are brought at once, and wait in the form for what is said next ----
  const bringer = document.querySelector('[data-bring]');
  const bring = async kept => {
    const form = bringer.form, sent = new FormData(form);
    if ([...bringer.files].reduce((sum, one) => sum + one.size, 0) > bringer.dataset.bring) return tell('These files are too large together.', true);
    for (const one of kept) sent.append('kept', one);
    for (const [name, value] of [['_key', localStorage.getItem(KEY) || ''], ['do', 'attach'], ['piece', 'yes']]) sent.set(name, value);
    tell('Bringing files…');
    try {
      const answer = await fetch(form.getAttribute('action'), { method: 'POST', body: sent });
      const now = parse(await answer.text()).getElementById('attached');
      if (!now) throw 0;
      id('attached').replaceWith(document.adoptNode(now));
      bringer.value = '';
      for (const one of $$('input', id('attached'))) one.dataset.dirty = 'yes';
      drafts.keep(form);
      tell('The files are here.');
    } catch (_) { tell('The files could not be brought.', true); }
  };
  if (bringer) {
    bringer.addEventListener('change', () => bring([]));
    addEventListener('dragover', event => event.preventDefault());
    addEventListener('drop', event => {
      event.preventDefault();
      if (!event.dataTransfer.files.length) return;
      bringer.files = event.dataTransfer.files;
      bring([]);
    });
    const name = drafts.name(bringer.form), kept = JSON.parse(sessionStorage.getItem(name) || '[]').filter(([field]) => field === 'kept');
    const there = $$('[name=kept]', bringer.form).map(one => one.value), lost = kept.filter(([, [value, on]]) => on && !there.includes(value));
    if (lost.length) bring(lost.map(([, [value]]) => value));
  }

  // ---- What takes time comes when it is there --------------------------------------------------------------------
  for (const one of $$('[data-load]')) {
    fetch(one.dataset.load).then(answer => answer.text()).then(text => {
      const now = parse(text).getElementById(one.id);
      if (now) one.replaceWith(document.adoptNode(now));
    }).catch(() => {});
  }

  if (id('wrong')) id('wrong').focus();
  else if (id('granted-title')) id('granted-title').focus();

  // ---- The keyboard does what the mouse does -------------------------------------------------------------------
  const rows = () => $$('a.row,summary.row').filter(one => !one.closest('details:not([open])') || one.parentElement.matches('details:not([open])') && !one.parentElement.parentElement.closest('details:not([open])'));
  // What needs somebody is looked at before it goes.
  const dismiss = async row => {
    const all = rows(), next = all[all.indexOf(row) + 1] || all[all.indexOf(row) - 1];
    if (!row.closest('#rest') || !row.href) return tell('Only what is there to know is dismissed with e.');
    const sent = new URLSearchParams({ _token: body.dataset.token, _key: localStorage.getItem(KEY) || '' });
    const answer = await fetch(row.getAttribute('href') + '/dismiss', { method: 'POST', body: sent }).catch(() => ({}));
    if (!answer.ok) return tell('It could not be dismissed.', true);
    if (next) next.focus();
    tell('Dismissed.');
    later();
  };
  const typing = node => node && (node.matches(fields) || node.isContentEditable);
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) {
      if (event.key === 'Escape' && typing(event.target)) event.target.blur();
      return;
    }
    const all = rows(), at = all.indexOf(document.activeElement);
    const visible = Math.max(1, Math.floor(innerHeight / 60) - 1);
    const moves = { j: at + 1, ArrowDown: at + 1, k: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1, PageDown: at + visible, PageUp: at - visible };
    if (all.length && event.key in moves && (at >= 0 || 'jk'.includes(event.key))) {
      event.preventDefault();
      all[Math.min(all.length - 1, Math.max(0, moves[event.key]))].focus();
    } else if (event.key === '?') {
      tell('j and k move, Enter opens or unfolds, e dismisses, g goes to the inbox');
    } else if (event.key === 'e' && at >= 0) {
      dismiss(all[at]);
    } else if (event.key === 'g') {
      location.href = '/';
    } else if (event.key === 'Escape' && location.pathname !== '/') {
      document.getElementById('main').focus();
    }
  });
})();
