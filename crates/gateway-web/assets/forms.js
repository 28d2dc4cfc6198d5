// Keeps what is typed, checks fields early, and lets rows and files come and go. Every form is whole without it.
'use strict';
(() => {
  const { $$, SENT, fields, post, parse, morph, tell } = window.almoner || {};
  // Nobody is let in yet.
  if (!$$) return;
  const LINES = 1000;

  addEventListener('submit', event => {
    const form = event.target;
    if (form.getAttribute('method') !== 'post' || event.defaultPrevented) return;
    for (const one of $$('[data-secret]', form)) cover(one);
    // It is dropped once it was taken.
    if (drafts.name(form) && !(event.submitter && event.submitter.formNoValidate)) {
      drafts.keep(form);
      sessionStorage.setItem(SENT, drafts.name(form));
    }
  }, true);

  // ---- Drafts outlive a reload; secrets never leave their field -----------------------------------------------
  const drafts = {
    name: form => form.dataset.draft && 'draft ' + form.dataset.draft,
    // What would be sent, but for secrets, files and what is ours.
    pairs: form => {
      const not = new Set($$('[type=password],[data-secret]', form).map(one => one.name));
      return [...new FormData(form)].filter(([name, text]) => typeof text === 'string' && name[0] !== '_' && !not.has(name));
    },
    keep: form => {
      const name = drafts.name(form);
      if (name) sessionStorage.setItem(name, JSON.stringify(drafts.pairs(form)));
    },
    fill: async form => {
      const name = drafts.name(form), kept = JSON.parse(name && sessionStorage.getItem(name) || '[]');
      if (!kept.length) return;
      // What we have picked for the person is newer.
      const fresh = $$('[data-fresh]', form).map(one => [one.name, one.value]);
      const all = kept.filter(([field]) => fresh.every(([own]) => own !== field)).concat(fresh);
      const names = new Set(all.map(([field]) => field)), own = $$(fields, form).filter(one => one.name);
      const has = new Set(own.map(one => one.name));
      const rows = own.filter(one => one.type === 'hidden' && one.name.endsWith(':given'));
      const others = $$('.list', form).length && ([...names].some(field => !has.has(field)) || rows.some(one => !names.has(one.name)));
      if (others || $$('[data-told]', form).length) {
        // It has other rows than this page, or something is told of what stands in them: the daemon draws them.
        const now = await drawn(form, all, '');
        if (now && others) for (const list of $$('.list', form)) {
          const other = !list.parentElement.closest('.list') && now.getElementById(list.id);
          if (other) list.replaceWith(document.adoptNode(other));
        }
        if (now) renew(now, '[data-told]');
      }
      const texts = new Map();
      for (const [field, text] of all) texts.set(field, [...texts.get(field) || [], text]);
      for (const one of $$(fields, form)) {
        const mine = texts.get(one.name);
        if (!one.name || one.name[0] === '_' || one.type === 'hidden' || one.type === 'password') continue;
        const was = one.checked + one.value;
        if (one.type === 'checkbox' || one.type === 'radio') one.checked = !!mine && mine.includes(one.value);
        else if (mine && one.nodeName === 'SELECT') {
          const text = mine.shift(), own = [...one.options].find(option => option.value === text && !option.disabled);
          if (own) own.selected = true;
        } else if (mine) one.value = mine.shift();
        if (was !== one.checked + one.value) one.dataset.dirty = 'yes';
      }
      drafts.keep(form);
      // What was written there is not hidden.
      const fold = form.closest('details');
      if (fold && $$('[data-dirty]', form).length) fold.open = true;
      form.dispatchEvent(new Event('filled', { bubbles: true }));
    },
  };
  // What is said of fields, as it is said in another page or a piece of one.
  const renew = (now, what) => {
    for (const one of $$(what, now)) {
      const place = document.getElementById(one.id);
      if (place) morph(place, one);
    }
  };
  const drawn = async (form, pairs, row) => {
    const sent = new URLSearchParams(pairs);
    sent.set('_row', row);
    try {
      const answer = await post(form.getAttribute('action'), sent);
      if (answer.ok) return parse(await answer.text());
    } catch (_) { /* It is told below. */ }
    tell('the rows are as they were: send the form instead', true);
  };

  // ---- Each field is checked by the daemon a little after it was written in, each by itself ---------------------
  const checks = new Map();
  const check = form => async field => {
    if (!form.contains(field)) return;
    const known = checks.get(field) || { count: 0 };
    const count = ++known.count;
    checks.set(field, known);
    const sent = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === 'string') sent.append(name, value);
    sent.set('_field', field.name);
    try {
      const answer = await post(form.dataset.check, sent);
      if (!answer.ok || checks.get(field).count !== count) return;
      const now = parse(await answer.text());
      for (const one of $$('[data-error-of]', now)) {
        const control = document.getElementById(one.id.replace(/-error$/, ''));
        // A group has no value that could be wrong; what is in it has.
        if (!control || control.matches('fieldset')) continue;
        if (one.textContent.trim()) control.setAttribute('aria-invalid', 'true');
        else control.removeAttribute('aria-invalid');
      }
      renew(now, '[data-error-of],[data-told]');
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

  // ---- Rows come, move and go in place, files become text, secrets are shown when one asks for it ----------
  const id = one => document.getElementById(one);
  // One after the other: each begins with what the one before has left.
  let changing = Promise.resolve();
  const changed = change => { changing = changing.then(change, change); };
  // What is called otherwise once a row has changed places with its neighbour.
  const renamed = (list, row) => {
    const [what, place] = row.split(' '), item = $$('.item', list).find(one => one.dataset.row === place);
    const near = item && { up: item.previousElementSibling, down: item.nextElementSibling }[what], other = near && near.dataset.row;
    const below = (name, of) => name === of || name.startsWith(of + '/') || name.startsWith(of + ':');
    return name => !other ? name : below(name, place) ? other + name.slice(place.length) : below(name, other) ? place + name.slice(other.length) : name;
  };
  const state = one => one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value;
  const rowed = async (list, row, pairs) => {
    const form = list.closest('form'), active = document.activeElement;
    const area = row.startsWith('insert ') && list.querySelector('textarea');
    const before = new Map($$(fields, list).map(one => [one, state(one)])), name = renamed(list, row);
    const page = await drawn(form, (pairs || [...new FormData(form)].filter(one => typeof one[1] === 'string')).concat(area ? [['_at', area.selectionStart]] : []), row);
    const now = page && page.getElementById(list.id);
    if (!now) return;
    // What was written while one waited is written again, and who has gone elsewhere stays there.
    const late = $$(fields, list).filter(one => before.has(one) && before.get(one) !== state(one));
    const here = document.activeElement, inside = list.contains(here), item = inside && here.closest('.item');
    const rest = item && here.id.startsWith(item.id.slice(0, -5)) ? here.id.slice(item.id.length - 5) : null;
    const from = here.selectionStart, to = here.selectionEnd;
    list.replaceWith(document.adoptNode(now));
    for (const one of late) {
      const same = other => other.name === name(one.name) && (typeof state(one) === 'string' || other.value === one.value);
      const place = $$(fields, now).find(same);
      if (!place) continue;
      if (typeof state(one) === 'string') place.value = one.value; else place.checked = one.checked;
    }
    for (const one of $$(fields, now)) one.dataset.dirty = 'yes';
    drafts.keep(form);
    renew(page, '[data-told],[data-error-of="' + CSS.escape(now.dataset.place || '') + '"]');
    const moved = here !== active && here !== document.body;
    if (moved && !inside) return;
    const written = !moved && now.querySelector('textarea[data-caret]');
    if (written) {
      // One goes on behind what was inserted, and hears whether all of it fits.
      written.focus();
      written.setSelectionRange(written.dataset.caret, written.dataset.caret);
      written.dispatchEvent(new Event('input', { bubbles: true }));
      return;
    }
    const own = item && $$('.item', now).find(one => one.dataset.row === name(item.dataset.row));
    const next = own && rest !== null && (moved || /^(up|down) /.test(row)) && id(own.id.slice(0, -5) + rest);
    const fresh = $$('.item[autofocus]', now)[0];
    const into = next || fresh && fresh.querySelector('input:not([type=hidden],.by-script),textarea,select') || fresh || now.querySelector('[name=_row]');
    if (into) into.focus();
    if (next && from != null) next.setSelectionRange(from, to);
  };
  addEventListener('click', event => {
    const button = event.target.closest && event.target.closest('button[name=_row]');
    if (!button || !button.form) return;
    event.preventDefault();
    if (button.getAttribute('aria-disabled')) return;
    changed(() => rowed(id(button.closest('.list').id), button.value));
  });
  addEventListener('keydown', event => {
    const way = event.altKey && { ArrowUp: 'up', ArrowDown: 'down' }[event.key];
    if (!way || !event.target.closest('[data-ordered] > .items > .item')) return;
    event.preventDefault();
    changed(() => {
      const row = document.activeElement.closest('[data-ordered] > .items > .item');
      return row && rowed(row.closest('.list'), way + ' ' + row.dataset.row);
    });
  });
  addEventListener('paste', event => {
    const field = event.target, text = event.clipboardData.getData('text/plain');
    const item = field.matches('input') && field.closest('[data-split] > .items > .item');
    if (!item || field.name !== item.dataset.row || !/[\r\n]./.test(text)) return;
    event.preventDefault();
    if (text.split('\n').length > LINES) return tell('more than ' + LINES + ' lines: paste them in parts', true);
    const whole = field.value.slice(0, field.selectionStart) + text + field.value.slice(field.selectionEnd), list = field.closest('.list').id;
    changed(() => rowed(id(list), 'split ' + field.name, [...new FormData(field.form)].filter(one => typeof one[1] === 'string').map(([name, own]) => [name, name === field.name ? whole : own])));
  });
  addEventListener('input', event => {
    const field = event.target, count = field.id && document.querySelector('[data-counter-of="' + CSS.escape(field.id) + '"]');
    if (count) count.textContent = field.value.length > .8 * field.dataset.limit ? field.value.length + ' of ' + field.dataset.limit : '';
    const slid = field.dataset.slides && id(field.dataset.slides);
    if (slid) { slid.value = field.value; slid.dispatchEvent(new Event('input', { bubbles: true })); }
    const slider = field.id && field.value && document.querySelector('[data-slides="' + CSS.escape(field.id) + '"]');
    if (slider && slider !== document.activeElement) slider.value = field.value;
  });
  addEventListener('filled', event => {
    for (const one of $$('[data-slides]', event.target)) one.value = id(one.dataset.slides).value || one.value;
  });
  const cover = field => {
    field.type = 'password';
    const button = document.querySelector('[data-show="' + CSS.escape(field.id) + '"]');
    if (button) button.setAttribute('aria-pressed', 'false');
  };
  addEventListener('click', event => {
    const button = event.target.closest && event.target.closest('[data-show]'), field = button && id(button.dataset.show);
    if (!field) return;
    if (field.type !== 'password') return cover(field);
    field.type = 'text';
    button.setAttribute('aria-pressed', 'true');
  });
  addEventListener('pagehide', () => $$('[data-secret]').forEach(cover));
  addEventListener('change', async event => {
    const of = event.target.dataset.bytesOf, place = of && id(of), file = event.target.files && event.target.files[0];
    if (!place || !file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = '';
    for (let at = 0; at < bytes.length; at += 3072) text += btoa(String.fromCharCode(...bytes.subarray(at, at + 3072)));
    // No bytes are something too.
    place.value = text || 'hex:';
    place.dispatchEvent(new Event('input', { bubbles: true }));
  });

  // ---- Files that are chosen, or dropped on the page, are brought at once, and wait in the form for what is said next ----
  const bringer = document.querySelector('[data-bring]');
  // One after the other: each begins with what the one before has left.
  let bringing = Promise.resolve();
  const bring = (files, kept) => { bringing = bringing.then(() => brought(files, kept)); };
  const brought = async (files, kept) => {
    const form = bringer.form, sent = new FormData(form);
    if (files.reduce((sum, one) => sum + one.size, 0) > bringer.dataset.bring) return tell('These files are too large together.', true);
    sent.delete('file');
    for (const one of files) sent.append('file', one);
    for (const one of kept) sent.append('kept', one);
    for (const [name, value] of [['do', 'attach'], ['piece', 'yes']]) sent.set(name, value);
    tell('Bringing files…');
    try {
      const answer = await post(form.getAttribute('action'), sent);
      const now = parse(await answer.text()).getElementById('attached');
      if (!now) throw 0;
      id('attached').replaceWith(document.adoptNode(now));
      bringer.value = '';
      for (const one of $$('input', id('attached'))) one.dataset.dirty = 'yes';
      drafts.keep(form);
      const wrong = $$('.error', id('attached')).some(one => one.textContent.trim());
      tell(wrong ? 'A file was not taken: why stands at the files.' : 'The files are here.', wrong);
    } catch (_) { tell('The files could not be brought.', true); }
  };
  if (bringer) {
    bringer.addEventListener('change', () => bring([...bringer.files], []));
    addEventListener('dragover', event => event.preventDefault());
    addEventListener('drop', event => {
      event.preventDefault();
      if (event.dataTransfer.files.length) bring([...event.dataTransfer.files], []);
    });
    const name = drafts.name(bringer.form), kept = JSON.parse(sessionStorage.getItem(name) || '[]').filter(([field]) => field === 'kept').map(([, value]) => value);
    const there = $$('[name=kept]', bringer.form).map(one => one.value), lost = kept.filter(value => !there.includes(value));
    if (lost.length) bring([], lost);
  }

  // Last: what is brought again is looked up in the drafts as they were.
  for (const form of $$('form[data-draft]')) drafts.fill(form);
})();
