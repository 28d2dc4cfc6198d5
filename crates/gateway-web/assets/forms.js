// Saves drafts, checks fields early, and adds and removes rows and files. Every form also works without this script.
'use strict';
(() => {
  const { $$, SENT, fields, post, parse, morph, tell } = window.almoner || {};
  // The user is not logged in: on the login page, app.js does not define `window.almoner`.
  if (!$$) return;
  const LINES = 1000;

  addEventListener('submit', event => {
    const form = event.target;
    if (form.getAttribute('method') !== 'post' || event.defaultPrevented) return;
    // The Enter key only checks the form and stays on this page. A secret that the user typed therefore stays too.
    if (form.dataset.check && event.submitter && event.submitter.matches('.default')) {
      event.preventDefault();
      return look(form);
    }
    for (const one of $$('[data-secret]', form)) cover(one);
    // A text field already holds the content of the file, so the browser need not send the file too.
    for (const one of $$('[data-bytes-of]', form)) one.removeAttribute('name');
    // Remembers the name of the draft, so that the next page can delete it if the server accepts the form.
    if (drafts.name(form) && !(event.submitter && event.submitter.formNoValidate)) {
      drafts.keep(form);
      try { sessionStorage.setItem(SENT, drafts.name(form)); } catch (_) { /* Then the draft stays. */ }
    }
  }, true);
  const id = one => document.getElementById(one);
  const below = (name, of) => name === of || name.startsWith(of + '/') || name.startsWith(of + ':');
  const texts = form => [...new FormData(form)].filter(one => typeof one[1] === 'string');

  // ---- Drafts survive a reload; a draft never contains a secret -----------------------------------------------
  const drafts = {
    name: form => form.dataset.draft && 'draft ' + form.dataset.draft,
    // The fields that the form would send, without secrets, files and internal fields, whose names begin with `_`.
    pairs: form => {
      const not = new Set($$('[type=password],[data-secret]', form).map(one => one.name));
      return texts(form).filter(([name]) => name[0] !== '_' && !not.has(name));
    },
    keep: form => {
      const name = drafts.name(form), all = name ? drafts.pairs(form) : [];
      const files = new Set($$('[data-bytes-of]', form).map(one => one.dataset.bytesOf && id(one.dataset.bytesOf).name));
      // If a draft is too large for the storage, it is saved without its files, or else not at all.
      for (const pairs of name ? [all, all.filter(([field]) => !files.has(field))] : []) {
        try { return sessionStorage.setItem(name, JSON.stringify(pairs)); } catch (_) { /* Fewer fields may fit. */ }
      }
    },
    fill: async form => {
      const name = drafts.name(form), kept = JSON.parse(name && sessionStorage.getItem(name) || 'null');
      // An empty draft counts as a draft too.
      if (!kept) return;
      // A value that the server has just chosen for the user is newer than the draft.
      const fresh = $$('[data-fresh]', form).map(one => [one.name, one.value]);
      const all = kept.filter(([field]) => fresh.every(([own]) => own !== field)).concat(fresh);
      const names = new Set(all.map(([field]) => field)), own = $$(fields, form).filter(one => one.name);
      const has = new Set(own.map(one => one.name));
      const rows = own.filter(one => one.type === 'hidden' && one.name.endsWith(':given'));
      const others = $$('.list', form).length && ([...names].some(field => !has.has(field)) || rows.some(one => !names.has(one.name)));
      if (others || $$('[data-told]', form).length) {
        // The draft has other rows than this page, or the page has notes on values: the daemon renders them.
        const now = await drawn(form, all, '');
        if (now && others) for (const list of $$('.list', form)) {
          const other = !list.parentElement.closest('.list') && now.getElementById(list.id);
          if (other) list.replaceWith(document.adoptNode(other));
        }
        if (now) renew(now, '[data-told]');
      }
      const texts = new Map();
      for (const [field, text] of all) texts.set(field, [...texts.get(field) || [], text]);
      // A value that the user entered while the script waited is newer than the draft.
      const newer = new Set($$(fields, form).filter(one => one.dataset.dirty).map(one => one.name));
      for (const one of $$(fields, form)) {
        const mine = texts.get(one.name);
        if (!one.name || one.name[0] === '_' || one.type === 'hidden' || one.type === 'password' || newer.has(one.name)) continue;
        const was = one.checked + one.value;
        if (one.type === 'checkbox' || one.type === 'radio') one.checked = !!mine && mine.includes(one.value);
        else if (mine && one.nodeName === 'SELECT') {
          const text = mine.shift(), own = [...one.options].find(option => option.value === text && !option.disabled);
          if (own) own.selected = true;
        } else if (mine) one.value = mine.shift();
        if (was !== one.checked + one.value) one.dataset.dirty = 'yes';
      }
      drafts.keep(form);
      // Unfolds the block around the form if the form has edited fields.
      const fold = form.closest('details');
      if (fold && $$('[data-dirty]', form).length) fold.open = true;
      form.dispatchEvent(new Event('filled', { bubbles: true }));
    },
  };
  // Replaces the notes on fields with those from another page, or from a piece of one.
  const renewed = all => {
    for (const one of all) {
      const place = document.getElementById(one.id);
      if (place && place !== one) morph(place, one);
    }
  };
  const renew = (now, what) => renewed($$(what, now));
  const drawn = async (form, pairs, row, piece) => {
    const sent = new URLSearchParams(pairs);
    sent.set('_row', row);
    if (piece) sent.set('_piece', 'yes');
    try {
      const answer = await post(form.getAttribute('action'), sent);
      if (answer.ok) return parse(await answer.text());
    } catch (_) { /* The message follows below. */ }
    tell('the rows are as they were: send the form instead', true);
  };
  // Shows an error at a field, or removes it, on the screen and for screen readers.
  const mark = (place, text) => {
    if (place.textContent !== text) place.textContent = text;
    const control = id(place.id.replace(/-error$/, ''));
    // A group has no value that could be wrong. A picker shows its text field and hides its menu, so mark both.
    if (!control || control.matches('fieldset')) return;
    for (const one of control.matches('.pick > select') ? $$('select,[role=combobox]', control.parentElement) : [control]) {
      if (text) one.setAttribute('aria-invalid', 'true'); else one.removeAttribute('aria-invalid');
    }
  };
  // Checks the whole form and shows each error where it would appear on the page that the server sends back.
  const look = async form => {
    const sent = new URLSearchParams(texts(form));
    sent.set('do', 'look');
    try {
      const answer = await post(form.getAttribute('action'), sent);
      if (!answer.ok && answer.status !== 422) throw 0;
      const now = parse(await answer.text()), said = now.getElementById('wrong') || now.getElementById('looked');
      for (const one of $$('[data-error-of]', now)) if (id(one.id)) mark(id(one.id), one.textContent.trim());
      for (const one of $$('#wrong,#looked')) one.remove();
      if (!said) return;
      if (said.id === 'looked') return tell(said.dataset.kept || said.textContent);
      // Removes the note that the user must type a secret again, because the field still holds it.
      for (const one of $$('[data-lost]', said)) one.remove();
      (form.closest('[data-live]') || form).before(document.adoptNode(said));
      said.focus();
    } catch (_) { tell('It could not be looked at.', true); }
  };

  // ---- The daemon checks each field shortly after the user has changed it -------------------------------------
  const checks = new Map();
  const check = form => async field => {
    if (!form.contains(field)) return;
    const known = checks.get(field) || { count: 0 };
    const count = ++known.count;
    checks.set(field, known);
    const sent = new URLSearchParams(texts(form));
    sent.set('_field', field.name);
    try {
      const answer = await post(form.dataset.check, sent), own = id(field.id + '-error');
      if (checks.get(field).count !== count) return;
      if (answer.status === 413 && own) mark(own, 'all that is filled in is more than can be sent: at most 4 MiB');
      if (!answer.ok) return;
      const now = parse(await answer.text()), all = new Map($$('[data-error-of]', now).map(one => [one.id, one]));
      // A field that the answer does not name is right. A field that the user has not filled yet gets no new error.
      for (const place of $$('[data-error-of]', form)) {
        const one = all.get(place.id);
        if (!below(place.dataset.errorOf, field.name.split(/[/:]/)[0]) || one && 'late' in one.dataset && !place.textContent) continue;
        mark(place, one ? one.textContent.trim() : '');
      }
      renew(now, '[data-told]');
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

  // ---- Changing rows in place, reading files into text fields, showing secrets on request ------------------
  // These run one after the other: each starts from the result of the one before.
  let changing = Promise.resolve();
  const changed = change => { changing = changing.then(change, change); };
  // Returns a function that gives the new name of a field after a row has changed places with its neighbour.
  const renamed = (list, row) => {
    const [what, place] = row.split(' '), item = $$('.item', list).find(one => one.dataset.row === place);
    const near = item && { up: item.previousElementSibling, down: item.nextElementSibling }[what], other = near && near.dataset.row;
    return name => !other ? name : below(name, place) ? other + name.slice(place.length) : below(name, other) ? place + name.slice(other.length) : name;
  };
  // Updates only the rows that a button has changed, because a browser needs seconds to replace a thousand rows.
  // Returns nothing if the caller must replace the whole list.
  const spliced = (list, now, row) => {
    const [what, place] = row.split(' '), rows = of => [...of.querySelector(':scope > .items')?.children || []];
    const old = rows(list), fresh = rows(now), at = old.findIndex(one => one.dataset.row === place);
    if (!old.length || !fresh.length) return;
    const other = at + { up: -1, down: 1 }[what];
    if (what === 'more') old.push(...fresh.slice(old.length).map(one => list.querySelector(':scope > .items').appendChild(document.adoptNode(one))));
    else if (what === 'less' && at >= 0) { old[at].remove(); old.splice(at, 1); }
    else if (at >= 0 && old[other]) for (const one of [at, other]) { old[one].replaceWith(fresh[one]); old[one] = fresh[one]; }
    else return;
    if (old.length !== fresh.length || old.some((one, at) => one.dataset.row !== fresh[at].dataset.row)) return;
    // The rows after a removed row have new numbers, and the row that is now the last cannot move further down.
    const from = { more: old.length - 2, less: at - 1 }[what] ?? old.length;
    old.forEach((one, at) => { if (at >= (old.length < 2 ? 0 : from) && one !== fresh[at]) morph(one, fresh[at]); });
    for (const one of [...list.children]) if (!one.matches('.items')) one.remove();
    list.append(...[...now.children].filter(one => !one.matches('.items')));
    return list;
  };
  const state = one => one.type === 'checkbox' || one.type === 'radio' ? one.checked : one.value;
  const rowed = async (list, row, pairs) => {
    const form = list.closest('form'), active = document.activeElement;
    const area = row.startsWith('insert ') && list.querySelector('textarea');
    const before = new Map($$(fields, list).map(one => [one, state(one)])), name = renamed(list, row);
    const page = await drawn(form, (pairs || texts(form)).concat(area ? [['_at', area.selectionStart]] : []), row, true);
    let now = page && page.getElementById(list.id);
    if (!now) return;
    const fresh = now.querySelector('.item[autofocus]')?.dataset.row, told = $$('[data-told],[data-error-of="' + CSS.escape(now.dataset.place || '') + '"]', page);
    // Copies the values that the user changed while waiting. If the user moved the focus meanwhile, it stays there.
    const late = $$(fields, list).filter(one => before.has(one) && before.get(one) !== state(one));
    const here = document.activeElement, inside = list.contains(here), item = inside && here.closest('.item');
    const rest = item && here.id.startsWith(item.id.slice(0, -5)) ? here.id.slice(item.id.length - 5) : null;
    const from = here.selectionStart, to = here.selectionEnd;
    if (spliced(list, now, row)) now = list; else list.replaceWith(document.adoptNode(now));
    for (const one of late) {
      const same = other => other.name === name(one.name) && (typeof state(one) === 'string' || other.value === one.value);
      const place = $$(fields, now).find(same);
      if (!place) continue;
      if (typeof state(one) === 'string') place.value = one.value; else place.checked = one.checked;
    }
    for (const one of $$(fields, now)) one.dataset.dirty = 'yes';
    drafts.keep(form);
    renewed(told);
    const moved = here !== active && here !== document.body;
    if (moved && !inside) return;
    const written = !moved && now.querySelector('textarea[data-caret]');
    if (written) {
      // The cursor goes behind the inserted text. The input event starts the check whether all of it fits.
      written.focus();
      written.setSelectionRange(written.dataset.caret, written.dataset.caret);
      written.dispatchEvent(new Event('input', { bubbles: true }));
      return;
    }
    const own = item && $$('.item', now).find(one => one.dataset.row === name(item.dataset.row));
    const next = own && rest !== null && (moved || /^(up|down) /.test(row)) && id(own.id.slice(0, -5) + rest);
    const came = fresh && $$('.item', now).find(one => one.dataset.row === fresh);
    const into = next || came && came.querySelector('input:not([type=hidden],.by-script),textarea,select') || came || now.querySelector('[name=_row]');
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
    // An input of one line would drop the line breaks of the pasted text.
    if (!field.matches('input[data-limit]') || field.inputMode || !/[\r\n]./.test(text)) return;
    event.preventDefault();
    const whole = field.value.slice(0, field.selectionStart) + text + field.value.slice(field.selectionEnd);
    if (!item || field.name !== item.dataset.row) {
      const area = document.createElement('textarea');
      for (const { name, value } of field.attributes) if (name !== 'type' && name !== 'value') area.setAttribute(name, value);
      area.className = 'grows';
      field.replaceWith(area);
      area.value = whole;
      area.focus();
      return area.dispatchEvent(new Event('input', { bubbles: true }));
    }
    if (text.split('\n').length > LINES) return tell('more than ' + LINES + ' lines: paste them in parts', true);
    tell('');
    const list = field.closest('.list').id;
    changed(() => rowed(id(list), 'split ' + field.name, texts(field.form).map(([name, own]) => [name, name === field.name ? whole : own])));
  });
  // A slider always has a position. While its text field is empty, it looks unset and screen readers say so.
  const stand = slider => {
    const text = id(slider.dataset.slides).value;
    if (text) slider.value = text;
    slider.classList.toggle('unset', !text);
    if (text) slider.removeAttribute('aria-valuetext'); else slider.setAttribute('aria-valuetext', 'nothing yet');
  };
  addEventListener('input', event => {
    const field = event.target, count = field.id && document.querySelector('[data-counter-of="' + CSS.escape(field.id) + '"]');
    if (count) count.textContent = field.value.length > .8 * field.dataset.limit ? field.value.length + ' of ' + field.dataset.limit : '';
    const slid = field.dataset.slides && id(field.dataset.slides);
    if (slid) { slid.value = field.value; slid.dispatchEvent(new Event('input', { bubbles: true })); }
    const slider = field.id && document.querySelector('[data-slides="' + CSS.escape(field.id) + '"]');
    if (slider) stand(slider);
  });
  addEventListener('filled', event => {
    $$('[data-slides]', event.target).forEach(stand);
  });
  const area = field => field.matches('textarea');
  const cover = field => {
    if (area(field)) delete field.dataset.shown; else field.type = 'password';
    const button = document.querySelector('[data-show="' + CSS.escape(field.id) + '"]');
    if (button) button.setAttribute('aria-pressed', 'false');
  };
  addEventListener('click', event => {
    const button = event.target.closest && event.target.closest('[data-show]'), field = button && id(button.dataset.show);
    if (!field) return;
    if (area(field) ? 'shown' in field.dataset : field.type !== 'password') return cover(field);
    if (area(field)) field.dataset.shown = 'yes'; else field.type = 'text';
    button.setAttribute('aria-pressed', 'true');
  });
  addEventListener('pagehide', () => $$('[data-secret]').forEach(cover));
  addEventListener('change', async event => {
    const of = event.target.dataset.bytesOf, place = of && id(of), file = event.target.files && event.target.files[0];
    if (!place || !file) return;
    const most = Number(event.target.dataset.most || Infinity);
    if (file.size > most) {
      event.target.value = '';
      return mark(id(place.id + '-error'), 'the file has ' + file.size + ' bytes, and at most ' + most + ' fit');
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = '';
    for (let at = 0; at < bytes.length; at += 3072) text += btoa(String.fromCharCode(...bytes.subarray(at, at + 3072)));
    // An empty file is a value too, so the text must not be empty.
    place.value = text || 'hex:';
    place.dispatchEvent(new Event('input', { bubbles: true }));
  });

  // ---- Files that the user chooses or drops are uploaded at once and wait in the form for the next message ----
  const bringer = document.querySelector('[data-bring]');
  // These run one after the other: each starts from the result of the one before.
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

  // Enter sends a message. Shift and Enter begin a new line, and so does Enter on a phone, which has no other key for it.
  addEventListener('keydown', event => {
    const field = event.target;
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || !field.matches('[data-enter]') || matchMedia('(pointer: coarse)').matches) return;
    event.preventDefault();
    if (field.value.trim()) field.form.requestSubmit(field.form.querySelector('button:not([name])'));
  });

  // This comes last, because `fill` saves drafts anew and the code above must read the old ones.
  for (const form of $$('form[data-draft]')) drafts.fill(form);
})();
