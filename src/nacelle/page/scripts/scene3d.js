// Draws the figures of nacelle.scene.figure with three.js: robots in space that can be turned, and that move.
// Each <figure class="scene3d"> holds its data as JSON; nothing is requested, and names are shown as plain text.
(() => {
  "use strict";

  const UNREACHABLE = new THREE.Color(0xc4262e);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // ------------------------------------------------------------------ data

  function bytes(text) {
    const letters = atob(text);
    const out = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) out[i] = letters.charCodeAt(i);
    return out.buffer;
  }
  const floats = (text) => new Float32Array(bytes(text));
  const wholes = (text) => new Uint32Array(bytes(text));

  // ------------------------------------------------------------------ solids

  function between(mesh, a, b) {
    const axis = new THREE.Vector3().subVectors(b, a);
    mesh.position.copy(a).addScaledVector(axis, 0.5);
    mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), axis.clone().normalize());
    return mesh;
  }

  function solid(data) {
    const material = new THREE.MeshStandardMaterial({ color: data.colour, roughness: 0.62, metalness: 0.05 });
    if (data.rod) {
      const [ax, ay, az, bx, by, bz, r] = data.rod;
      const a = new THREE.Vector3(ax, ay, az), b = new THREE.Vector3(bx, by, bz);
      return between(new THREE.Mesh(new THREE.CylinderGeometry(r, r, a.distanceTo(b), 28), material), a, b);
    }
    if (data.ball) {
      const [x, y, z, r] = data.ball;
      const mesh = new THREE.Mesh(new THREE.SphereGeometry(r, 28, 18), material);
      mesh.position.set(x, y, z);
      return mesh;
    }
    if (data.block) {
      const [sx, sy, sz, x, y, z, qw, qx, qy, qz] = data.block;
      const mesh = new THREE.Mesh(new THREE.BoxGeometry(sx, sy, sz), material);
      mesh.position.set(x, y, z);
      mesh.quaternion.set(qx, qy, qz, qw);
      return mesh;
    }
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.BufferAttribute(floats(data.mesh.points), 3));
    shape.setIndex(new THREE.BufferAttribute(wholes(data.mesh.triangles), 1));
    material.flatShading = true;
    material.side = THREE.DoubleSide;
    return new THREE.Mesh(shape, material);
  }

  function line(points, colour, opacity) {
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.BufferAttribute(points, 3));
    return new THREE.Line(shape, new THREE.LineBasicMaterial({ color: colour, transparent: true, opacity }));
  }

  // ------------------------------------------------------------------ arrows

  class Arrow {
    constructor(colour, size) {
      const material = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.7 });
      this.size = size;
      this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(size, size, 1, 12), material);
      this.head = new THREE.Mesh(new THREE.ConeGeometry(2.6 * size, 6 * size, 16), material);
      this.group = new THREE.Group();
      this.group.add(this.shaft, this.head);
    }

    point(from, vector) {
      const length = vector.length();
      this.group.visible = length > 1e-3 * this.size;
      if (!this.group.visible) return;
      const head = Math.min(6 * this.size, 0.5 * length);
      const shaft = length - head;
      this.group.position.copy(from);
      this.group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), vector.clone().normalize());
      this.shaft.scale.set(1, shaft, 1);
      this.shaft.position.set(0, 0.5 * shaft, 0);
      this.head.scale.setScalar(head / (6 * this.size));
      this.head.position.set(0, shaft + 0.5 * head, 0);
    }
  }

  // ------------------------------------------------------------------ springs and dampers between bodies

  // A corner (x, y, z, part) of a coil is at (x, y, z + part length) in a frame with z from end to end.
  class Link {
    constructor(data) {
      this.bodies = data.bodies;
      this.points = data.points.map((point) => new THREE.Vector3(...point));
      this.corners = floats(data.corners);
      this.places = new THREE.BufferAttribute(new Float32Array((3 * this.corners.length) / 4), 3);
      const shape = new THREE.BufferGeometry();
      shape.setAttribute("position", this.places);
      shape.setIndex(new THREE.BufferAttribute(wholes(data.triangles), 1));
      const material = new THREE.MeshStandardMaterial({
        color: data.colour, roughness: 0.62, flatShading: true, side: THREE.DoubleSide });
      this.mesh = new THREE.Mesh(shape, material);
      this.mesh.userData = { name: data.name, kind: data.kind, active: false, colour: material.color.clone() };
    }

    follow(bodies) {
      const [first, second] = this.bodies.map((b, k) =>
        this.points[k].clone().applyQuaternion(bodies[b].quaternion).add(bodies[b].position));
      const line = second.sub(first), length = line.length();
      this.mesh.visible = length > 0;
      if (!this.mesh.visible) return;
      this.mesh.position.copy(first);
      this.mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), line.normalize());
      const own = this.corners;
      for (let k = 0; k < this.places.count; k++) {
        this.places.setXYZ(k, own[4 * k], own[4 * k + 1], own[4 * k + 2] + own[4 * k + 3] * length);
      }
      this.places.needsUpdate = true;
      this.mesh.geometry.computeBoundingSphere();
    }
  }

  // ------------------------------------------------------------------ one robot

  class Robot {
    constructor(data, extent) {
      this.data = data;
      this.times = data.times;
      this.position = floats(data.position);
      this.quaternion = floats(data.quaternion);
      this.group = new THREE.Group();
      this.group.position.set(...data.offset);
      this.bodies = data.bodies.map(() => new THREE.Group());
      this.group.add(...this.bodies);
      this.solids = [];
      for (const part of data.parts) {
        for (const own of part.solids) {
          const mesh = solid(own);
          mesh.userData = { name: part.name, kind: part.kind, active: part.active };
          mesh.userData.colour = mesh.material.color.clone();
          this.bodies[part.body].add(mesh);
          this.solids.push(mesh);
        }
      }
      this.links = data.links.map((own) => new Link(own));
      for (const { mesh } of this.links) {
        this.group.add(mesh);
        this.solids.push(mesh);
      }
      this.sets = data.arrows.map((own) => {
        const arrows = Array.from({ length: own.count }, () => new Arrow(own.colour, 0.0045 * extent));
        this.group.add(...arrows.map((arrow) => arrow.group));
        return { points: floats(own.points), vectors: floats(own.vectors), arrows };
      });
      for (const trace of data.traces) this.group.add(line(floats(trace.points), trace.colour, 0.8));
      this.reached = true;
    }

    // Between two samples positions and quaternions are interpolated.
    show(time) {
      const times = this.times, last = times.length - 1;
      let k = 0, part = 0;
      if (last > 0) {
        let low = 0, high = last;
        while (high - low > 1) {
          const middle = (low + high) >> 1;
          if (times[middle] <= time) low = middle;
          else high = middle;
        }
        k = low;
        part = Math.min(Math.max((time - times[k]) / (times[k + 1] - times[k] || 1), 0), 1);
      }
      const next = Math.min(k + 1, last), count = this.bodies.length;
      const q = new THREE.Quaternion(), r = new THREE.Quaternion();
      this.bodies.forEach((body, b) => {
        const i = 3 * (k * count + b), j = 3 * (next * count + b);
        const p = this.position;
        body.position.set(...[0, 1, 2].map((c) => (1 - part) * p[i + c] + part * p[j + c]));
        const m = 4 * (k * count + b), n = 4 * (next * count + b), u = this.quaternion;
        q.set(u[m + 1], u[m + 2], u[m + 3], u[m]);
        body.quaternion.copy(q.slerp(r.set(u[n + 1], u[n + 2], u[n + 3], u[n]), part));
      });
      for (const link of this.links) link.follow(this.bodies);
      for (const { points, vectors, arrows } of this.sets) {
        const still = points.length === 3 * arrows.length;
        arrows.forEach((arrow, a) => {
          const i = 3 * (still ? a : k * arrows.length + a), j = 3 * (still ? a : next * arrows.length + a);
          const mix = (values, c) => (1 - part) * values[i + c] + part * values[j + c];
          arrow.point(
            new THREE.Vector3(mix(points, 0), mix(points, 1), mix(points, 2)),
            new THREE.Vector3(mix(vectors, 0), mix(vectors, 1), mix(vectors, 2)),
          );
        });
      }
      const reached = this.data.ok[k] && this.data.ok[next];
      if (reached !== this.reached) {
        this.reached = reached;
        for (const mesh of this.solids) {
          mesh.material.color.copy(mesh.userData.colour);
          if (!reached && mesh.userData.kind !== "base") mesh.material.color.lerp(UNREACHABLE, 0.75);
        }
      }
      return k;
    }
  }

  // ------------------------------------------------------------------ the figure

  class Figure {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector(".scene-data").textContent);
      this.view = figure.querySelector(".scene-view");
      this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
      this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
      this.view.append(this.renderer.domElement);
      this.scene = new THREE.Scene();
      this.robots = this.data.items.map((item) => new Robot(item, this.data.extent));
      this.scene.add(...this.robots.map((robot) => robot.group));
      this.end = Math.max(...this.robots.map((robot) => robot.times.at(-1)));
      this.time = 0;
      this.speed = 1;
      this.playing = false;
      this.addSurroundings();
      this.addCamera();
      this.addTooltip();
      if (this.robots.length > 1) this.addNames();
      if (this.end > 0) this.addBar();
      this.show(0);
      new ResizeObserver(() => this.resize()).observe(this.view);
      this.resize();
      this.figure.dataset.ready = "true";
      if (this.end > 0 && this.data.autoplay && !calm.matches) this.play(true);
    }

    addSurroundings() {
      const [low, high] = this.data.box, extent = this.data.extent, across = this.data.across;
      this.scene.add(new THREE.HemisphereLight(0xffffff, 0xb9c0c8, 2.1));
      this.sun = new THREE.DirectionalLight(0xffffff, 1.7);
      this.scene.add(this.sun, this.sun.target);
      const width = 1.25 * Math.max(...[0, 1, 2].map((k) => (k === (across ?? 2) ? 0 : high[k] - low[k])));
      const step = 10 ** Math.floor(Math.log10(width / 4));
      const cell = [1, 2, 5, 10].map((f) => f * step).find((size) => width / size <= 12);
      const count = 2 * Math.ceil(width / cell / 2);
      const grid = new THREE.GridHelper(count * cell, count, 0xc3cad2, 0xe1e5e9);
      const centre = low.map((v, k) => 0.5 * (v + high[k]));
      // Below the robot, or behind one that moves in a plane.
      if (across === 0) grid.rotation.z = Math.PI / 2;
      if (across !== 0 && across !== 1) grid.rotation.x = Math.PI / 2;
      grid.position.set(...centre.map((v) => cell * Math.round(v / cell)));
      const normal = across ?? 2;
      grid.position.setComponent(normal, normal === 1 ? high[1] + 0.02 * extent : low[normal] - 0.02 * extent);
      this.scene.add(grid);
      this.grid = cell;
      for (const robot of this.robots) {
        this.data.axes.forEach((colour, k) => {
          const arrow = new Arrow(colour, 0.003 * extent);
          arrow.point(new THREE.Vector3(), new THREE.Vector3().setComponent(k, 0.15 * extent));
          robot.group.add(arrow.group);
        });
      }
    }

    addCamera() {
      const [low, high] = this.data.box;
      this.camera = new THREE.PerspectiveCamera(26, 1, 0.01, 100);
      this.camera.up.set(0, 0, 1);
      if (this.data.across === 2) this.camera.up.set(0, 1, 0);
      this.centre = new THREE.Vector3(...low).add(new THREE.Vector3(...high)).multiplyScalar(0.5);
      this.from = new THREE.Vector3(0.46, -0.8, 0.37);
      if (this.data.across !== null) this.from.set(0, 0, 0).setComponent(this.data.across, this.data.across === 1 ? -1 : 1);
      this.from.normalize();
      this.controls = new THREE.OrbitControls(this.camera, this.renderer.domElement);
      this.controls.enableDamping = false;
      this.controls.listenToKeyEvents(this.view);
      this.controls.addEventListener("change", () => this.draw());
      this.controls.addEventListener("start", () => { this.moved = true; });
    }

    // As near as the whole motion, seen from `from`, allows: with a = |slope| of the picture's edge a point at
    // (x, y, z) in camera axes is within it from a distance d if x <= a (d - z). Two edges that face each other
    // give the centre between them.
    frame() {
      const camera = this.camera, values = this.data.outline;
      camera.position.copy(this.centre).add(this.from);
      camera.lookAt(this.centre);
      const inverse = camera.quaternion.clone().invert();
      const points = [];
      for (let k = 0; k < values.length; k += 3) {
        points.push(new THREE.Vector3().fromArray(values, k).sub(this.centre).applyQuaternion(inverse));
      }
      const up = Math.tan((0.5 * camera.fov * Math.PI) / 180) / 1.07;
      const shift = [0, 0];
      let distance = 0;
      for (const [axis, slope] of [["x", up * camera.aspect], ["y", up]]) {
        const high = Math.max(...points.map((p) => p[axis] + slope * p.z));
        const low = Math.max(...points.map((p) => -p[axis] + slope * p.z));
        shift[axis === "x" ? 0 : 1] = 0.5 * (high - low);
        distance = Math.max(distance, (high + low) / (2 * slope));
      }
      const target = new THREE.Vector3(...shift, 0).applyQuaternion(camera.quaternion).add(this.centre);
      camera.position.copy(target).addScaledVector(this.from, distance);
      camera.near = distance / 100;
      camera.far = distance * 20;
      camera.updateProjectionMatrix();
      this.controls.target.copy(target);
      this.controls.update();
    }

    // Names of robots side by side, below them.
    addNames() {
      this.names = this.robots.map((robot) => {
        const name = document.createElement("span");
        name.className = "scene-name";
        name.textContent = robot.data.name;
        name.style.maxWidth = `${92 / this.robots.length}%`;
        this.view.append(name);
        return name;
      });
    }

    addTooltip() {
      const tip = document.createElement("div");
      tip.className = "scene-tip";
      tip.hidden = true;
      this.view.append(tip);
      const ray = new THREE.Raycaster();
      const meshes = this.robots.flatMap((robot) => robot.solids);
      this.view.addEventListener("pointermove", (event) => {
        const box = this.view.getBoundingClientRect();
        const place = new THREE.Vector2(
          (2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height);
        ray.setFromCamera(place, this.camera);
        const hit = event.buttons ? undefined : ray.intersectObjects(meshes, false)[0];
        tip.hidden = !hit;
        if (!hit) return;
        const { name, kind, active } = hit.object.userData;
        const what = { joint: active ? "active joint " : "joint ", spring: "spring ", damper: "damper " };
        tip.textContent = (what[kind] ?? "") + name;
        tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4)}px`;
        tip.style.top = `${Math.max(event.clientY - box.top - 26, 2)}px`;
      });
      this.view.addEventListener("pointerleave", () => { tip.hidden = true; });
    }

    addBar() {
      const bar = this.figure.querySelector(".scene-bar");
      const make = (tag, attributes) => Object.assign(bar.appendChild(document.createElement(tag)), attributes);
      this.button = make("button", { type: "button" });
      this.button.addEventListener("click", () => this.play(!this.playing));
      this.slider = make("input", { type: "range", min: 0, max: this.end, step: "any", value: 0 });
      this.slider.setAttribute("aria-label", "time");
      this.slider.addEventListener("input", () => { this.play(false); this.show(Number(this.slider.value)); });
      this.clock = make("output", {});
      const speed = make("select", { title: "speed" });
      speed.setAttribute("aria-label", "speed");
      for (const factor of [0.1, 0.25, 0.5, 1, 2, 4]) {
        const option = new Option(`${factor} ×`, factor, factor === 1, factor === 1);
        speed.append(option);
      }
      speed.addEventListener("change", () => { this.speed = Number(speed.value); });
      const reset = make("button", { type: "button", textContent: "reset view" });
      reset.addEventListener("click", () => { this.moved = false; this.frame(); });
      this.play(false);
    }

    play(on) {
      this.playing = on;
      this.button.textContent = on ? "❚❚" : "▶";
      this.button.setAttribute("aria-label", on ? "pause" : "play");
      this.figure.dataset.playing = on;
      if (!on) return;
      if (this.time >= this.end) this.time = 0;
      let before = performance.now();
      const step = (now) => {
        if (!this.playing) return;
        // A page in the background makes no steps; it goes on where it was.
        const passed = Math.max(0, Math.min((now - before) / 1000, 0.1));
        before = now;
        const time = this.time + this.speed * passed;
        this.show(time > this.end ? time % this.end : time);
        requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    show(time) {
      this.time = time;
      const samples = this.robots.map((robot) => robot.show(time));
      if (this.slider) {
        this.slider.value = time;
        this.clock.textContent = `${time.toFixed(2)} s`;
      }
      this.figure.dataset.frame = samples[0];
      this.figure.dataset.time = time.toFixed(4);
      this.figure.dataset.reached = this.robots.every((robot) => robot.reached);
      this.draw();
    }

    resize() {
      const width = this.view.clientWidth, height = this.view.clientHeight;
      if (!width || !height) return;
      this.renderer.setSize(width, height, false);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
      if (!this.moved) this.frame();
      this.draw();
    }

    draw() {
      // The light comes from behind the viewer's left shoulder.
      this.sun.position.set(-0.6, 0.8, 1).applyQuaternion(this.camera.quaternion).add(this.controls.target);
      this.sun.target.position.copy(this.controls.target);
      this.renderer.render(this.scene, this.camera);
      this.names?.forEach((name, k) => {
        const points = this.robots[k].bodies.map((body) => body.getWorldPosition(new THREE.Vector3()).project(this.camera).x);
        name.style.left = `${25 * (Math.min(...points) + Math.max(...points)) + 50}%`;
      });
    }
  }

  function start() {
    for (const figure of document.querySelectorAll("figure.scene3d")) {
      if (figure.dataset.ready) continue;
      try {
        figure.scene = new Figure(figure);
      } catch (error) {
        const words = document.createElement("p");
        words.className = "quiet";
        words.textContent = `This figure cannot be drawn here: ${error.message}`;
        figure.querySelector(".scene-view").replaceChildren(words);
        figure.dataset.ready = "failed";
      }
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
