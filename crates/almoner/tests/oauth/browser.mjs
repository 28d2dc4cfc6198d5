// A browser that goes to an address, follows redirects with its cookies, and ends at the first page that is none.
// With a second argument it does not go to the address that begins with it, but prints that address.
const [start, stop] = process.argv.slice(2);
const jar = new Map();
let url = start;
for (let step = 0; step < 20; step++) {
  if (stop && url.startsWith(stop)) {
    console.log(url);
    process.exit(0);
  }
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} });
  for (const line of response.headers.getSetCookie()) {
    const [pair] = line.split(';');
    const at = pair.indexOf('=');
    jar.set(pair.slice(0, at), pair.slice(at + 1));
  }
  const location = response.headers.get('location');
  if (!location) {
    console.log(response.status, await response.text());
    process.exit(response.status === 200 ? 0 : 1);
  }
  url = new URL(location, url).href;
}
process.exit(1);
