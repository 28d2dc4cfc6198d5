// A menu of names with a text field for searching. The form sends the identifier from the hidden menu, which holds
// the option that the user picked. A name that the user only typed is not sent.
'use strict';
(() => {
  const { $$ } = window.almoner || {};
  if (!$$) return;
  const MOST = 100, PAGE = 7;
  const part = (one, what) => one.closest('.pick').querySelector(what);
  const menu = one => part(one, 'select'), field = one => part(one, '[role=combobox]'), list = one => part(one, '[role=listbox]');
  const options = box => $$('[role=option]', box), active = box => box.querySelector('[aria-selected=true]');
  const text = select => select.value ? select.selectedOptions[0].textContent : '';
  const is = node => node.matches && node.matches('.pick > [role=combobox]');

  const make = (tag, more) => Object.assign(document.createElement(tag), more);
  const say = (input, words) => { part(input, '[role=status]').textContent = words; };
  const close = input => {
    const id = menu(input).value, detail = part(input, '.detail');
    detail.hidden = !id;
    detail.firstChild.href = '/thing?id=' + id;
    say(input, input.value && !menu(input).value ? 'Nothing is picked: choose one from the list' : '');
    list(input).hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const reach = (input, option) => {
    const box = list(input), before = active(box);
    if (before) before.setAttribute('aria-selected', 'false');
    if (!option) return input.removeAttribute('aria-activedescendant');
    option.setAttribute('aria-selected', 'true');
    option.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', option.id);
  };
  // Lists the options that contain every typed word, by heading. Options that begin with the first word come first.
  const open = (input, typed) => {
    const box = list(input), words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = one => one.value && words.every(word => one.textContent.toLowerCase().includes(word));
    const heads = [...menu(input).children], begins = one => words.length && one.textContent.toLowerCase().startsWith(words[0]) ? 0 : 1;
    const head = one => one.parentElement.label ? heads.indexOf(one.parentElement) : 0;
    const all = [...menu(input).options].filter(fits).sort((a, b) => head(a) - head(b) || begins(a) - begins(b)), groups = new Map();
    all.slice(0, MOST).forEach((one, at) => {
      const heading = one.parentElement.label || '';
      if (!groups.has(heading)) {
        const group = make('div');
        if (heading) {
          const title = make('p', { className: 'note', textContent: heading });
          title.setAttribute('aria-hidden', 'true');
          group.setAttribute('role', 'group');
          group.setAttribute('aria-label', heading);
          group.append(title);
        }
        groups.set(heading, group);
      }
      const row = make('div', { id: box.id + '-' + at, textContent: one.textContent });
      row.setAttribute('role', 'option');
      row.setAttribute('aria-selected', 'false');
      row.dataset.at = one.index;
      groups.get(heading).append(row);
    });
    box.replaceChildren(...[...groups.values()].flatMap(group => group.hasAttribute('role') ? [group] : [...group.children]));
    box.hidden = !all.length;
    input.setAttribute('aria-expanded', String(!box.hidden));
    input.removeAttribute('aria-activedescendant');
    const many = all.length > MOST ? 'The first ' + MOST + ' of ' + all.length + ' that fit' : all.length === 1 ? 'One fits' : all.length + ' fit';
    say(input, all.length ? many : 'None of your names fits what is written');
  };
  // Selects by position, because several options, with different names, can have the same value.
  const set = (input, at) => {
    const select = menu(input);
    if (select.selectedIndex === at) return;
    select.selectedIndex = at;
    // In a form without early checks, removes the error at once, because the user has picked an option.
    const wrong = document.getElementById(select.id + '-error');
    if (at && wrong && !(select.form && select.form.dataset.check)) {
      wrong.textContent = '';
      for (const one of [select, input]) one.removeAttribute('aria-invalid');
    }
    select.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const take = (input, option) => {
    set(input, Number(option.dataset.at));
    input.value = text(menu(input));
    close(input);
  };

  addEventListener('input', event => {
    const input = event.target;
    if (!is(input)) return;
    // The text no longer names the option that the user picked before.
    looked.delete(menu(input).id);
    set(input, 0);
    open(input, input.value);
  });
  addEventListener('click', event => {
    const at = event.target;
    if (is(at) && list(at).hidden) open(at, menu(at).value ? '' : at.value);
    const option = at.closest && at.closest('.pick [role=option]');
    if (option) { const input = field(option); take(input, option); input.focus(); }
    // A click on the label, or on a link from an error, moves the focus to the text field.
    const to = at.closest && (at.closest('label') || at.closest('a[href^="#"]'));
    const select = to && document.getElementById(to.htmlFor || to.hash && decodeURIComponent(to.hash.slice(1)));
    if (select && select.matches('.pick > select')) { event.preventDefault(); field(select).focus(); }
  });
  // The list never takes the focus: it stays in the text field when the user presses the mouse on the list.
  addEventListener('mousedown', event => { if (event.target.closest && event.target.closest('.pick [role=listbox]')) event.preventDefault(); });
  addEventListener('keydown', event => {
    const input = event.target;
    if (!is(input) || event.ctrlKey || event.metaKey || event.altKey) return;
    const box = list(input), all = options(box), at = all.indexOf(active(box)), last = all.length - 1;
    if (box.hidden) {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      open(input, menu(input).value ? '' : input.value);
      reach(input, options(box).find(one => Number(one.dataset.at) === menu(input).selectedIndex) || options(box)[event.key === 'ArrowUp' ? options(box).length - 1 : 0]);
    } else {
      const moves = { ArrowDown: at < last ? at + 1 : 0, ArrowUp: at > 0 ? at - 1 : last, PageDown: Math.min(last, at + PAGE), PageUp: Math.max(0, at - PAGE) };
      if (at >= 0) Object.assign(moves, { Home: 0, End: last });
      if (event.key in moves) reach(input, all[moves[event.key]]);
      else if (event.key === 'Enter') { if (at >= 0) take(input, all[at]); }
      else if (event.key === 'Escape') { input.value = text(menu(input)); close(input); }
      else return;
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
  addEventListener('focusin', event => { if (is(event.target)) event.target.select(); });
  addEventListener('focusout', event => { if (is(event.target)) close(event.target); });

  // Shows the picked option in each text field, also after the script has filled in a draft or replaced rows.
  const sync = within => {
    for (const one of $$('.pick > select', within)) {
      const input = field(one), had = document.activeElement === one || one.autofocus && !one.closest('.pick').dataset.on;
      one.closest('.pick').dataset.on = 'yes';
      if (one.value || document.activeElement !== input && !looked.has(one.id)) input.value = text(one);
      close(input);
      if (had) input.focus();
    }
  };
  // If the server refuses the form, the text field shows again what the user searched for without picking an option.
  const LOOKED = 'looked for', looked = new Map(JSON.parse(sessionStorage.getItem(LOOKED) || '[]'));
  sessionStorage.removeItem(LOOKED);
  sync(document);
  for (const [id, text] of looked) {
    const select = document.getElementById(id), input = select && select.matches('.pick > select') && !select.value && field(select);
    if (input) { input.value = text; close(input); }
  }
  addEventListener('submit', event => {
    const all = $$('.pick > select', event.target).filter(one => !one.value && field(one).value).map(one => [one.id, field(one).value]);
    try { if (all.length) sessionStorage.setItem(LOOKED, JSON.stringify(all)); } catch (_) { /* The text is lost. */ }
  });
  // A form in use stays as it is, but its menus get the present options.
  addEventListener('renewed', ({ detail: page }) => {
    for (const select of $$('.pick > select')) {
      const now = page.getElementById(select.id), was = select.selectedOptions[0], listed = one => [...one.options].map(option => option.value + option.label).join('\n');
      if (!now || listed(now) === listed(select)) continue;
      select.replaceChildren(...[...now.children].map(one => document.importNode(one, true)));
      const all = [...select.options], own = was && (all.find(one => one.value === was.value && one.label === was.label) || all.find(one => one.value === was.value));
      select.selectedIndex = own ? own.index : 0;
      // If the picked option has vanished, the form still sends it, and the server says what happened to it.
      if (was && was.value && !own) { select.append(was); was.selected = true; }
      if (list(select).hidden) close(field(select));
    }
  });
  addEventListener('filled', event => sync(event.target));
  new MutationObserver(all => {
    for (const { addedNodes } of all) for (const one of addedNodes) if (one.nodeType === 1 && (one.matches('.pick') || one.querySelector('.pick'))) sync(one.matches('.pick') ? one.parentNode || document : one);
  }).observe(document.body, { childList: true, subtree: true });
})();
