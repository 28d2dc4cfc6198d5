// A real proxy that asks for a name and a password. It resolves every name to this machine, as no other resolver does.
// It prints its port, and then a line for each request that it relays.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.TOOLS}/package.json`);
const { Server } = await import(require.resolve('proxy-chain'));

const here = (name, options, done) => {
  const answer = typeof options === 'function' ? options : done;
  const all = typeof options === 'object' && options.all;
  setImmediate(() => (all ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4)));
};

const server = new Server({
  port: 0,
  host: '127.0.0.1',
  prepareRequestFunction: ({ request, username, password, hostname, port, isHttp }) => {
    const isKnown = username === 'ada' && password === 's3cret:pass';
    if (isKnown) console.log(`${isHttp ? 'whole' : 'tunnel'} ${request.method} ${hostname}:${port}`);
    return { requestAuthentication: !isKnown, dnsLookup: here };
  },
});
await server.listen();
console.log(server.port);
