// What survives a reload: measurements, failures, calibrations and the kernel that is running, in IndexedDB.

const kName = 'rooftile', kVersion = 1;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Opens the store; without IndexedDB (private windows) one that forgets, with `persistent` false. */
export async function openStore() {
  try {
    const request = indexedDB.open(kName, kVersion);
    request.onupgradeneeded = () => {
      const database = request.result;
      database.createObjectStore('samples', {keyPath: 'id', autoIncrement: true}).createIndex('key', 'key');
      database.createObjectStore('values');
    };
    return new SafeStore(new Store(await done(request)));
  } catch {
    return new ForgetfulStore();
  }
}

/** The store in IndexedDB until that refuses something (a full disk, a quota), and from then on one that forgets. */
export class SafeStore {
  #store;

  constructor(store) {
    this.#store = store;
    for (const operation of ['add', 'samples', 'forget', 'get', 'put', 'keys'])
      this[operation] = async (...values) => {
        try {
          return await this.#store[operation](...values);
        } catch {
          this.#store = new ForgetfulStore();
          return this.#store[operation](...values);
        }
      };
  }

  get persistent() {
    return this.#store.persistent;
  }
}

class Store {
  persistent = true;

  constructor(database) {
    this.database = database;
  }

  #in(store, mode) {
    return this.database.transaction(store, mode, {durability: 'strict'});
  }

  /** Adds a sample {key, variant, ns (null: it failed), why}; on return it is stored. */
  async add(sample) {
    const transaction = this.#in('samples', 'readwrite');
    transaction.objectStore('samples').add(sample);
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  }

  samples(key) {
    return done(this.#in('samples', 'readonly').objectStore('samples').index('key').getAll(key));
  }

  async forget(key) {
    const store = this.#in('samples', 'readwrite').objectStore('samples');
    for (const id of await done(store.index('key').getAllKeys(key))) store.delete(id);
  }

  get(name) {
    return done(this.#in('values', 'readonly').objectStore('values').get(name));
  }

  put(name, value) {
    return done(this.#in('values', 'readwrite').objectStore('values').put(value, name));
  }

  async keys() {
    return (await done(this.#in('values', 'readonly').objectStore('values').getAllKeys())).map(String);
  }
}

class ForgetfulStore {
  persistent = false;
  #samples = [];
  #values = new Map();

  async add(sample) {
    this.#samples.push(sample);
  }
  async samples(key) {
    return this.#samples.filter(sample => sample.key === key);
  }
  async forget(key) {
    this.#samples = this.#samples.filter(sample => sample.key !== key);
  }
  async get(name) {
    return this.#values.get(name);
  }
  async put(name, value) {
    this.#values.set(name, value);
  }
  async keys() {
    return [...this.#values.keys()];
  }
}
