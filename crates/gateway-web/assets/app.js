// Updates pages in place and blocks buttons that the user presses too early. Pages also work without this script.
'use strict';
(() => {
  const body = document.body, say = document.getElementById('link');
  const $$ = (what, within = document) => [...within.querySelectorAll(what)];
  const DRAWN = 'drawn key', SETTLE = 600, TOLD = 8000;
  document.documentElement.classList.add('scripted');

  // ---- Logging this browser in -------------------------------------------------------------------------------
  const login = document.getElementById('login');
  if (login) {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    const key = [...bytes].map(b => b.toString(16).padStart(2, '0')).join('');
    // Only the next page shows whether the login has succeeded. Until then nothing uses the key.
    sessionStorage.removeItem(DRAWN);
    login.addEventListener('submit', () => sessionStorage.setItem(DRAWN, key));
    login.elements._key.value = key;
    const arrive = () => {
      // A link of a notification has no code: it is for a browser that has been let in.
      const [, page] = /^#((?:\/\w+)+|\/)$/.exec(location.hash) || [];
      if (page) return location.replace(page);
      const [, code, to] = /^#([0-9a-f]{64})(\/.*)?$/.exec(location.hash) || [];
      if (!code) return;
      login.elements.code.value = code;
      login.elements.to.value = to || '/';
      history.replaceState(null, '', '/login');
      login.requestSubmit();
    };
    // If the user enters another login link in this tab, the browser changes only the hash and loads no page.
    addEventListener('hashchange', arrive);
    return arrive();
  }

  // When the user goes back or reloads, the browser requests the page and does not send its form a second time.
  history.replaceState(history.state, '', location.href);

  // ---- Each request that changes something carries a key besides the cookie -----------------------------------
  // Session storage holds the key: only pages of this port in this tab can read it. A tab without it asks others.
  const token = () => body.dataset.token, named = of => 'key ' + of, keyed = () => 'keyed' in body.dataset;
  const key = () => sessionStorage.getItem(named(token())) || '';
  const tabs = 'BroadcastChannel' in window ? new BroadcastChannel('almoner keys') : { postMessage() {} };
  tabs.onmessage = ({ data }) => {
    const own = data.wants && sessionStorage.getItem(named(data.wants));
    if (own) tabs.postMessage({ token: data.wants, key: own });
    if (!data.key) return;
    sessionStorage.setItem(named(data.token), data.key);
    // The key is for another session than this page has: the user may have logged in again, so refresh the page.
    if (data.token !== token()) later();
  };
  const KEYLESS = 'This tab may read and change nothing: `almoner open` opens one that may.';
  const haveKey = () => {
    const drawn = sessionStorage.getItem(DRAWN);
    sessionStorage.removeItem(DRAWN);
    if (!keyed()) return;
    if (drawn && !key()) {
      sessionStorage.setItem(named(token()), drawn);
      tabs.postMessage({ token: token(), key: drawn });
    }
    if (!key()) {
      tabs.postMessage({ wants: token() });
      setTimeout(() => key() || tell(KEYLESS, true), 1000);
    }
  };
  const post = (url, sent) => {
    sent.set('_token', token());
    sent.set('_key', key());
    return fetch(url, { method: 'POST', body: sent, headers: { 'x-almoner': token() } });
  };
  addEventListener('submit', event => {
    const form = event.target;
    if (form.getAttribute('method') !== 'post') return;
    const waits = event.submitter && event.submitter.getAttribute('aria-disabled') === 'true', mute = keyed() && !key();
    if (mute) tell(KEYLESS, true);
    const fold = waits && $$('details[data-must-open]', form).find(one => !one.dataset.opened);
    if (fold) { tell('Unfold everything above first.', true); fold.querySelector('summary').focus(); }
    else if (waits) toNext(form);
    if (waits || mute || form.dataset.sent) return event.preventDefault();
    // The event stream is down. If the daemon still answers, the script sends the form, unless the form has changed.
    if (body.dataset.stream === 'down') {
      event.preventDefault();
      const is = () => JSON.stringify([...new FormData(form)].filter(([name]) => !['_token', '_key'].includes(name)).map(([name, value]) => [name, String(value)])), was = is();
      fetch(document.querySelector('link[rel=icon]').href, { cache: 'no-store', signal: AbortSignal.timeout(3000) }).then(() => {
        body.dataset.stream = '';
        if (form.isConnected && is() === was) form.requestSubmit(event.submitter);
        else tell('Nothing was sent: this has changed since you pressed it.', true);
      }, () => tell('Nothing was sent: the daemon does not answer. `almoner status` starts it.', true));
      return;
    }
    let field = form.elements._key;
    if (!field) {
      field = document.createElement('input');
      field.type = 'hidden';
      field.name = '_key';
      form.append(field);
    }
    field.value = key();
    form.elements._token.value = token();
  }, true);

  // The browser sends a form once, even if the user presses its button twice within three seconds.
  addEventListener('submit', ({ target: form, defaultPrevented }) => {
    if (defaultPrevented || form.getAttribute('method') !== 'post') return;
    form.dataset.sent = 'yes';
    setTimeout(() => delete form.dataset.sent, 3000);
  });

  // ---- Markup comes from our own pages only --------------------------------------------------------------------
  const own = window.trustedTypes
    ? trustedTypes.createPolicy('almoner', { createHTML: text => text })
    : { createHTML: text => text };
  // DOMParser parses as if scripts were off, so the content of <noscript> would appear. Remove it.
  const parse = text => {
    const page = new DOMParser().parseFromString(own.createHTML(text), 'text/html');
    for (const one of $$('noscript', page)) one.remove();
    return page;
  };

  // ---- Updating a page in place; fields that are focused or edited stay as they are ---------------------------
  const held = node => node.nodeType === 1 && (node.contains(document.activeElement) || $$('[data-dirty]', node).length > 0 || node.matches('[data-dirty]'));
  const fields = 'input,textarea,select';
  const does = form => [form.getAttribute('action'), form.dataset.draft, ...$$('button', form).map(one => one.name + ' ' + one.value)].join('\n');
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
    // Only the event stream updates the text that a model is writing.
    if (old.isEqualNode(now) || (old.matches('[data-streamed]') && now.matches('[data-streamed]'))) return;
    if (old.dataset.same && old.dataset.same === now.dataset.same) return;
    // A part that was loaded separately stays on the page while the script loads it again.
    if (now.dataset.load && old.dataset.come) { old.dataset.load = now.dataset.load; return load(old); }
    // A form that the user has focused or edited never gets another purpose. The page shows a notice instead.
    if (old.matches('form') && held(old) && (old.matches('[data-weighty]') || does(old) !== does(now))) return stale(old);
    const field = old.matches(fields);
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && !name.startsWith('data-') && !(name === 'open' && old.matches('details')) && name !== 'aria-disabled') old.removeAttribute(name);
    for (const { name, value } of [...now.attributes]) if (old.getAttribute(name) !== value && !(name === 'open' && old.matches('details')) && !(field && name === 'value' && old.dataset.dirty)) old.setAttribute(name, value);
    if (field && old.nodeName !== 'SELECT') return;
    children(old, now);
  };
  // An element that `moveBefore` moves keeps the focus; not every browser has that method.
  const move = (parent, node, before) => parent.moveBefore ? parent.moveBefore(node, before) : parent.insertBefore(node, before);
  const children = (old, now) => {
    const ids = new Set([...now.children].map(child => child.id).filter(Boolean));
    const gone = node => node.nodeType === 1 && node.id && !ids.has(node.id);
    // Removes vanished elements first, so that the elements below them need not be moved.
    for (const child of [...old.children]) if (gone(child) && !held(child)) child.remove();
    const byId = new Map([...old.children].filter(child => child.id).map(child => [child.id, child]));
    let at = old.firstChild;
    for (const next of [...now.childNodes]) {
      while (at && gone(at)) { stale(at); at = at.nextSibling; }
      const same = next.nodeType === 1 && next.id ? byId.get(next.id) : null;
      if (same) {
        if (same !== at) move(old, same, at);
        else at = at.nextSibling;
        morph(same, next);
      } else if (at && at.nodeName === 'FORM' && next.nodeName === 'FORM' && does(at) !== does(next) && held(at)) {
        stale(at);
        at = at.nextSibling;
      } else if (at && !(at.nodeType === 1 && at.id && byId.has(at.id))) {
        const here = at;
        at = at.nextSibling;
        morph(here, next);
      } else old.insertBefore(document.adoptNode(next), at);
    }
    while (at) {
      const rest = at;
      at = at.nextSibling;
      if (held(rest)) stale(rest); else rest.remove();
    }
  };
  // Shows a notice that a part of the page has changed. The part stays, because the user is working in it.
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

  // The server redirects to `#done` after it has accepted a form. The script then deletes the draft of that form.
  const SENT = 'sent draft', done = location.hash === '#done';
  if (done) {
    const sent = sessionStorage.getItem(SENT);
    if (sent) sessionStorage.removeItem(sent);
    history.replaceState(null, '', location.pathname + location.search);
  }
  sessionStorage.removeItem(SENT);
  for (const one of $$('[data-taken]')) sessionStorage.removeItem('draft ' + one.dataset.taken);

  // Returns a function that scrolls the focused element back to its present place on the screen after an update.
  const anchored = () => {
    const main = document.getElementById('main'), at = document.activeElement;
    if (!main || at === main || !main.contains(at)) return () => {};
    const top = () => at.getBoundingClientRect().top, before = top();
    if (before < 0 || before > innerHeight) return () => {};
    return () => {
      // In some browsers an element loses the focus when it moves.
      if (at.isConnected && document.activeElement !== at) at.focus({ preventScroll: true });
      const off = top() - before;
      if (!off || !at.isConnected) return;
      // If the page is too short to scroll that far, it gets padding at the bottom.
      const lacks = Math.ceil(off + innerHeight - body.getBoundingClientRect().bottom);
      if (lacks > 0) main.style.paddingBottom = parseFloat(getComputedStyle(main).paddingBottom) + lacks + 'px';
      scrollBy({ top: off, behavior: 'instant' });
    };
  };

  // A conversation opens at its end. While the user is at the end, the page scrolls along with new text.
  const end = document.getElementById('end');
  const toEnd = () => end.scrollIntoView({ block: 'end', behavior: 'instant' });
  const followed = change => {
    const is = end && end.getBoundingClientRect().top < innerHeight + 60;
    change();
    if (is) toEnd();
  };
  if (end) {
    history.scrollRestoration = 'manual';
    if (done) document.getElementById('said')?.focus({ preventScroll: true });
    if (['', '#newest'].includes(location.hash)) toEnd();
  }

  let asking = false, again = false, over = false, lost = false;
  // The offline message never replaces an error message that the page already shows.
  const offline = () => { if (!over && !(say && say.textContent && say.classList.contains('bad'))) tell('offline: what you see may be old', true); };
  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
      over = answer.status === 401;
      // The daemon answers although its event stream is down, so the tabs may send forms again.
      if (body.dataset.stream === 'down') share({ kind: 'there' });
      if (over) tell('your session is over: `almoner open` opens another', true);
      const page = parse(await answer.text());
      const back = anchored();
      if (!over) document.title = page.title;
      followed(() => {
        for (const region of over ? [] : $$('[data-live]')) {
          const now = page.getElementById(region.id);
          if (now) morph(region, now);
        }
        back();
      });
      dispatchEvent(new CustomEvent('renewed', { detail: page }));
      const now = page.body.dataset;
      if (now.token) {
        body.dataset.after = now.after;
        body.dataset.token = now.token;
        if ('keyed' in now) body.dataset.keyed = ''; else delete body.dataset.keyed;
        haveKey();
      }
      settle();
      if (lost && !over) tell('');
      lost = false;
    } catch (_) {
      lost = true;
      offline();
      setTimeout(later, 1000);
    }
    asking = false;
    if (again) { again = false; later(); }
  };
  let timer = 0;
  const later = () => { clearTimeout(timer); timer = setTimeout(refresh, 40); };

  // ---- Events: one tab listens to the stream and passes them to the others ------------------------------------
  let fades = 0;
  // Shows a message of our own. Its text between backticks is a command or a name. `to` is the address of its subject.
  const tell = (text, bad, to) => {
    if (!say) return;
    const pieces = text.split('\x60').map((piece, at) => {
      if (at % 2 === 0) return piece;
      const code = document.createElement('code');
      code.textContent = piece;
      return code;
    });
    const link = to && document.createElement('a');
    if (link) { link.href = to; link.append(...pieces); }
    say.replaceChildren(...(link ? [link] : pieces));
    say.classList.toggle('bad', !!bad);
    clearTimeout(fades);
    // Other messages disappear after a while; an error stays until another message replaces it.
    if (text && !bad) fades = setTimeout(() => { say.textContent = ''; }, TOLD);
  };
  const topics = new Set((body.dataset.topics || '').split(' ').filter(Boolean));
  const happened = what => {
    if (what.say) tell(what.say, false, what.to);
    if (what.written) { written.delete(what.written); put('progress-', what.written, ''); put('writes-', what.written, ''); }
    if (what.topics.some(topic => topics.has(topic)) || topics.has('all')) later();
    dispatchEvent(new CustomEvent('happened', { detail: what }));
  };
  // The text that models are writing, by run. Each tab has a copy; a tab that missed a piece asks the others for all.
  const channel = 'BroadcastChannel' in window ? new BroadcastChannel('almoner') : null;
  const written = new Map();
  const put = (what, run, text, more) => {
    const place = document.getElementById(what + run);
    if (place) followed(() => { if (more) place.append(text); else place.textContent = text; });
  };
  const wants = run => { if (channel) channel.postMessage({ kind: 'wants', data: run }); };
  const streamed = ({ run, prompted, from, to, text }) => {
    let all = written.get(run);
    // A text that starts again from the beginning, for example after a failure, replaces the earlier one.
    if (!all || all.prompted !== prompted || !from) { all = { prompted, to: 0, text: '' }; put('writes-', run, ''); }
    if (all.to !== from) return wants(run);
    written.set(run, { prompted, to, text: all.text + text });
    put('progress-', run, '');
    put('writes-', run, text, true);
  };
  const caught = ({ run, all }) => {
    const own = written.get(run);
    if (own && (own.prompted > all.prompted || own.prompted === all.prompted && own.to >= all.to)) return;
    written.set(run, all);
    put('writes-', run, all.text);
  };
  const hear = ({ kind, data }) => {
    if (kind === 'event') happened(data);
    else if (kind === 'text') streamed(data);
    else if (kind === 'progress') put('progress-', data.run, data.line);
    else if (kind === 'wants') { const all = written.get(data); if (all) channel.postMessage({ kind: 'told', data: { run: data, all } }); }
    else if (kind === 'told') caught(data);
    else if (kind === 'there') body.dataset.stream = '';
    else if (kind === 'up') { body.dataset.stream = data ? 'up' : 'down'; if (data) { tell(''); later(); happened({ topics: ['inbox'] }); } else offline(); }
  };
  if (channel) channel.onmessage = event => hear(event.data);
  for (const place of $$('.writes')) wants(place.id.slice(7));
  const share = message => { hear(message); if (channel) channel.postMessage(message); };
  // Whether this tab listens to the stream.
  let leads = false;
  const listen = () => new Promise(() => {
    leads = true;
    const source = new EventSource('/events?after=' + body.dataset.after);
    let down = false;
    source.onopen = () => { if (down) share({ kind: 'up', data: true }); down = false; body.dataset.stream = 'up'; };
    source.onerror = () => {
      // The server refused the stream: the session is over, or too many streams are open. A refresh finds out.
      if (source.readyState === EventSource.CLOSED) { later(); setTimeout(() => over || listen(), 2000); return; }
      down = true;
      share({ kind: 'up', data: false });
    };
    source.onmessage = event => share({ kind: 'event', data: JSON.parse(event.data) });
    source.addEventListener('resync', () => share({ kind: 'up', data: true }));
    for (const kind of ['text', 'progress']) source.addEventListener(kind, event => share({ kind, data: JSON.parse(event.data) }));
    addEventListener('pagehide', () => source.close());
  });
  if (navigator.locks && channel) navigator.locks.request('almoner-events', listen);
  else listen();
  addEventListener('pageshow', event => { if (event.persisted) location.reload(); });

  // ---- Approval buttons wait until the user can have read the text above them ---------------------------------
  // The buttons are always in view, so they wait until the end of each call has been in view, and a call is ticked.
  const calls = form => $$('[data-call]', form).filter(one => one.getClientRects().length), ticks = form => $$('[name=entry],[name=message]', form).filter(one => one.type === 'checkbox');
  const unread = form => {
    const seen = form.elements._seen ? form.elements._seen.value : '', bar = form.querySelector('.answers');
    const edge = Math.min(innerHeight, bar ? bar.getBoundingClientRect().top : innerHeight) + 8;
    const folded = one => $$('details[data-must-open]', one).some(fold => !fold.dataset.opened);
    // A jump past a call does not show it.
    const isInView = one => { const end = one.getBoundingClientRect().bottom; return end > 0 && end <= edge; };
    for (const one of calls(form)) if (!folded(one) && isInView(one)) one.dataset.read = seen;
    return calls(form).find(one => one.dataset.read !== seen);
  };
  const unticked = form => ticks(form).length > 0 && !ticks(form).some(one => one.checked) && ticks(form)[0];
  // Leads to the first call that keeps the buttons from working.
  const toNext = form => {
    const call = unread(form), tick = unticked(form);
    if (call) { call.scrollIntoView({ block: 'end' }); tell('Look at each call first: the next one is in view now.', true); }
    else if (tick) { tick.focus(); tell('Tick the calls that you approve.', true); }
  };
  let reading = 0;
  const read = () => { cancelAnimationFrame(reading); reading = requestAnimationFrame(() => settle()); };
  for (const what of ['scroll', 'resize']) addEventListener(what, read, { passive: true });
  addEventListener('change', ({ target }) => { if (target.name === 'entry' || target.name === 'message') read(); });
  const settle = () => {
    // Folds each block that the user must unfold before an approval, including blocks that an update added.
    for (const one of $$('details[data-must-open]:not([data-met])')) { one.open = false; one.dataset.met = 'yes'; }
    for (const form of $$('form[data-weighty]')) {
      const seen = form.elements._seen ? form.elements._seen.value : '', folds = $$('details[data-must-open]', form);
      if (form.dataset.seen !== seen) {
        // The form shows other content than the user unfolded before, so the blocks must be unfolded again.
        for (const one of folds) if (!held(one)) { one.open = false; delete one.dataset.opened; }
        form.dataset.seen = seen;
        form.dataset.fresh = 'yes';
        setTimeout(() => { delete form.dataset.fresh; settle(); }, SETTLE);
      }
      const folded = folds.some(one => !one.dataset.opened), waits = unread(form) || unticked(form);
      for (const button of $$('button.yes', form)) {
        if (form.dataset.fresh || folded || waits) button.setAttribute('aria-disabled', 'true'); else button.removeAttribute('aria-disabled');
        if (folded) button.setAttribute('aria-describedby', 'unfold'); else button.removeAttribute('aria-describedby');
      }
      for (const one of $$('.unfold', form)) one.hidden = !folded;
    }
  };
  document.addEventListener('toggle', ({ target }) => {
    if (!target.matches('details[data-must-open]') || !target.open) return;
    target.dataset.opened = 'yes';
    settle();
  }, true);
  settle();

  // ---- The preview of a grant disappears when the user changes the form ---------------------------------------
  for (const what of ['input', 'change']) addEventListener(what, ({ target }) => {
    const shown = target.name && target.form && target.form.querySelector('#granted');
    if (!shown || shown.contains(target)) return;
    shown.remove();
    tell('What you have chosen is not what was shown: show again what it would grant.');
  });

  // ---- Slow parts of a page load separately, folded parts once unfolded ---------------------------------------
  const load = one => {
    // A part inside a folded block loads when the user unfolds the block.
    if (one.closest('details:not([open])')) return delete one.dataset.come;
    one.dataset.come = 'yes';
    fetch(one.dataset.load).then(answer => answer.text()).then(text => {
      const now = parse(text).getElementById(one.id);
      if (now) morph(one, now);
    }).catch(() => delete one.dataset.come);
  };
  $$('[data-load]').forEach(load);
  document.addEventListener('toggle', ({ target }) => { if (target.open) $$('[data-load]:not([data-come])', target).forEach(load); }, true);

  const first = document.getElementById('wrong') || document.getElementById('granted-title');
  if (first) first.focus();

  // ---- The keyboard does what the mouse does -------------------------------------------------------------------
  const rows = () => $$('main a.row,main summary.row').filter(one => !one.closest('details:not([open])') || one.parentElement.matches('details:not([open])') && !one.parentElement.parentElement.closest('details:not([open])'));
  // Dismisses a message that only informs. A message that needs an answer cannot be dismissed here.
  const dismiss = async row => {
    const all = rows(), next = all[all.indexOf(row) + 1] || all[all.indexOf(row) - 1];
    if (!row.closest('#rest') || !row.href) return tell('Only what is there to know is dismissed with e.');
    const answer = await post(row.getAttribute('href') + '/dismiss', new URLSearchParams()).catch(() => ({}));
    if (!answer.ok) return tell('It could not be dismissed.', true);
    if (next) next.focus();
    tell('Dismissed.');
    later();
  };
  const typing = node => node && (node.matches(fields) || node.isContentEditable);
  // On a focused row, letter keys always work. A setting on the page of sessions turns them off everywhere else.
  const LETTERS = 'letters', letters = () => localStorage.getItem(LETTERS) !== 'off';
  for (const one of $$('[data-letters]')) {
    one.checked = letters();
    one.addEventListener('change', () => localStorage.setItem(LETTERS, one.checked ? 'on' : 'off'));
  }
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector('dialog[open]')) return;
    const all = rows(), at = all.indexOf(document.activeElement), free = letters() && (event.target === body || event.target.id === 'main');
    const visible = Math.max(1, Math.floor(innerHeight / 60) - 1);
    const moves = { j: at + 1, ArrowDown: at + 1, k: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1, PageDown: at + visible, PageUp: at - visible };
    if (at < 0 && !(free && 'jkg?'.includes(event.key))) return;
    if (all.length && event.key in moves) {
      event.preventDefault();
      all[Math.min(all.length - 1, Math.max(0, moves[event.key]))].focus();
    } else if (event.key === '?') document.getElementById('keys').showModal();
    else if (event.key === 'e') dismiss(all[at]);
    else if (event.key === 'g') location.href = '/';
  });

  haveKey();
  window.almoner = { $$, SENT, fields, post, parse, morph, tell, accepted: done, leads: () => leads };
})();
