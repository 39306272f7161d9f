#version 330 core
// Lights a surface.
in vec3 normal;
in vec3 place;
out vec4 color;

uniform vec3 lamp;
uniform sampler2D image;

#define LIMIT(x) \
  clamp(x, \
    0.0, 1.0)

/* how bright
   it is */
float bright(vec3 n) {
  vec3 way = normalize(lamp - place);
  return LIMIT(dot(n, way));
}

void main() {
  float b = bright(normalize(normal));
  if (b < 0.1) {
    discard;
  }
  color = vec4(vec3(b), 1.0);
}
