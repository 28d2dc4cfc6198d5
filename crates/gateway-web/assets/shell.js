// Keeps the frame of every page up to date: the count, the times, the look, the search and the notifications.
'use strict';
(() => {
  const { $$, post, parse, morph, tell, accepted, leads } = window.almoner;
  const body = document.body, one = id => document.getElementById(id);

  // ---- Times: the server's rule (time.rs), in the time zone of the reader --------------------------------------
  let shift = body.dataset.now - Date.now();
  const day = ms => new Date(ms).toLocaleDateString('sv');
  const distance = ms => {
    const now = Date.now() + shift, far = Math.floor(Math.abs(now - ms) / 1000);
    const words = (size, unit) => Math.floor(far / size) + ' ' + unit;
    if (far < 60) return ms > now ? 'in a moment' : 'just now';
    if (far >= 604800) return day(ms);
    const long = far < 3600 ? words(60, 'min') : far < 86400 ? words(3600, 'h') : words(86400, far < 172800 ? 'day' : 'days');
    return ms > now ? 'in ' + long : long + ' ago';
  };
  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const times = () => {
    for (const time of $$('time[data-ago],time[data-at]')) {
      const ms = Date.parse(time.dateTime), at = new Date(ms);
      time.title = at.toLocaleString([], { dateStyle: 'full', timeStyle: 'long' });
      put(time, 'ago' in time.dataset ? distance(ms) : day(ms) + ' ' + at.toLocaleTimeString([], { timeStyle: 'short' }));
    }
  };
  times();
  setInterval(times, 20000);

  // ---- The number of waiting messages, on every page and in its title ------------------------------------------
  const count = () => Number(one('waiting').dataset.count), SHOWN = /^(\(\d+\) )?/;
  const titled = () => { document.title = document.title.replace(SHOWN, count() ? '(' + count() + ') ' : ''); };
  let timer = 0, newest = '', said = '';
  const recount = async () => {
    try {
      const answer = await fetch('/waiting');
      const now = answer.ok && parse(await answer.text()).getElementById('waiting');
      if (!now) return;
      morph(one('waiting'), now);
      titled();
      if (newest) notify(newest, said);
      newest = '';
    } catch (_) { /* The status line says that the daemon does not answer. */ }
  };
  addEventListener('renewed', ({ detail }) => {
    shift = (detail.body.dataset.now || body.dataset.now) - Date.now();
    times();
    titled();
  });
  addEventListener('happened', ({ detail }) => {
    if (!detail.topics.includes('inbox')) return;
    newest = detail.to || newest;
    said = detail.say || said;
    clearTimeout(timer);
    timer = setTimeout(recount, 80);
  });

  // ---- Notifications: asked for once, after the first answer; they contain no words of others ------------------
  const NOTIFY = 'notifications', offer = one('offer'), can = 'Notification' in window;
  const wanted = () => can && Notification.permission === 'granted' && localStorage.getItem(NOTIFY) === 'on';
  const notify = (to, words) => {
    // Only the tab with the event stream notifies, and none that the user looks at.
    if (!wanted() || !leads() || document.hasFocus()) return;
    const many = count() === 1 ? words : words + ' (' + count() + ' messages need you)';
    const shown = new Notification('Almoner', { body: many, tag: 'almoner', icon: document.querySelector('link[rel=icon]').href });
    shown.onclick = () => { window.focus(); location.href = to; shown.close(); };
  };
  const choose = async is => {
    localStorage.setItem(NOTIFY, is ? 'on' : 'off');
    offer.hidden = true;
    if (is && await Notification.requestPermission() !== 'granted') tell('This browser shows no notifications of these pages.', true);
    mark();
  };
  const mark = () => {
    for (const box of $$('input[data-notify]')) { box.checked = wanted(); box.disabled = !can; }
  };
  for (const button of $$('button[data-notify]')) button.addEventListener('click', () => choose(button.dataset.notify === 'on'));
  for (const box of $$('input[data-notify]')) box.addEventListener('change', () => choose(box.checked));
  mark();
  offer.hidden = !(accepted && can && Notification.permission === 'default' && !localStorage.getItem(NOTIFY) && /^\/(m\/.*|batch\/.*)?$/.test(location.pathname));

  // ---- The look changes in place, so that nothing that was typed is lost ---------------------------------------
  addEventListener('submit', async event => {
    const form = event.target, button = event.submitter;
    if (!form.matches('form.look') || event.defaultPrevented || !button) return;
    event.preventDefault();
    const sent = new URLSearchParams({ look: button.value, to: '/waiting' });
    const answer = await post('/look', sent).catch(() => ({}));
    if (!answer.ok) return tell('The look could not be kept.', true);
    const root = document.documentElement;
    if (button.value === 'system') delete root.dataset.theme; else root.dataset.theme = button.value;
    document.querySelector('meta[name=color-scheme]').content = button.value === 'system' ? 'light dark' : button.value;
    for (const each of $$('button', form)) each.setAttribute('aria-pressed', each === button);
  });

  // ---- The search: a dialog over the page of the search --------------------------------------------------------
  const palette = one('palette'), text = one('palette-text'), found = one('palette-found');
  let typed = 0, shown = '';
  const find = async () => {
    const words = text.value.trim();
    if (words === shown) return;
    const own = ++typed;
    try {
      const answer = await fetch('/search?q=' + encodeURIComponent(words));
      const results = answer.ok && parse(await answer.text()).getElementById('results');
      if (!results || own !== typed) return;
      results.removeAttribute('id');
      found.replaceChildren(document.adoptNode(results));
      shown = words;
    } catch (_) { /* The status line says that the daemon does not answer. */ }
  };
  const open = () => {
    if (palette.open) return;
    if (palette.hidePopover) $$('[popover]:popover-open').forEach(each => each.hidePopover());
    palette.showModal();
    text.select();
    find();
  };
  if (/Mac|iPhone|iPad/.test(navigator.platform)) for (const key of $$('[data-palette] kbd')) key.textContent = '⌘ K';
  let waits = 0;
  text.addEventListener('input', () => { clearTimeout(waits); waits = setTimeout(find, 120); });
  // Enter goes to the first result. Without one for these words, the page of the search is loaded.
  palette.addEventListener('submit', event => {
    const first = shown === text.value.trim() && found.querySelector('a');
    if (!first || event.target.method === 'dialog') return;
    event.preventDefault();
    location.href = first.href;
  });
  palette.addEventListener('keydown', event => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [text, ...$$('a', found)], at = all.indexOf(document.activeElement);
    all[Math.min(all.length - 1, Math.max(0, at + way))].focus();
  });
  for (const dialog of [palette, one('keys')]) dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close(); });
  for (const link of $$('[data-palette]')) link.addEventListener('click', event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      open();
    }
  });
})();
