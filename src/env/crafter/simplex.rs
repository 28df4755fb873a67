//! OpenSimplex noise in three dimensions (Kurt Spencer's first version, 2014), as the Python package
//! `opensimplex` 0.4.5.1 computes it, to the last bit.
//!
//! Owns the noise function. Every expression keeps the order of operations of the original: maps
//! depend on comparisons of the result.

/// Squish: from the grid of cubes to the lattice.
const SQ: f64 = 1.0 / 3.0;
/// Stretch: from space to the grid of cubes.
const ST: f64 = -1.0 / 6.0;
/// Brings the sum to about -1..1.
const NORM: f64 = 103.0;

/// 24 gradients: for each sign of z, of y, of x, the long component on x, y, z in turn.
const GRADIENTS: [[f64; 3]; 24] = gradients();

const fn gradients() -> [[f64; 3]; 24] {
    let mut table = [[0.0; 3]; 24];
    let mut n = 0;
    while n < 8 {
        let sx = if n & 1 == 0 { -1.0 } else { 1.0 };
        let sy = if n & 2 == 0 { 1.0 } else { -1.0 };
        let sz = if n & 4 == 0 { 1.0 } else { -1.0 };
        let mut long = 0;
        while long < 3 {
            let mut gradient = [4.0 * sx, 4.0 * sy, 4.0 * sz];
            gradient[long] *= 2.75;
            table[n * 3 + long] = gradient;
            long += 1;
        }
        n += 1;
    }
    table
}

/// A lattice point relative to the base of its cell.
type Point = [i32; 3];

/// A noise function.
#[derive(Debug, Clone)]
pub struct Simplex {
    perm: [u8; 256],
}

impl Simplex {
    /// The noise function of a seed.
    pub fn new(seed: i64) -> Self {
        let advance = |state: i64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let mut state = advance(advance(advance(seed)));
        let mut source: [u8; 256] = std::array::from_fn(|i| i as u8);
        let mut perm = [0; 256];
        for i in (0..256_usize).rev() {
            state = advance(state);
            let pick = (i128::from(state) + 31).rem_euclid(i as i128 + 1) as usize;
            perm[i] = source[pick];
            source[pick] = source[i];
        }
        Self { perm }
    }

    /// The permutation the seed gave.
    pub fn permutation(&self) -> &[u8; 256] {
        &self.perm
    }

    /// The noise at a place.
    pub fn noise3(&self, x: f64, y: f64, z: f64) -> f64 {
        let stretch = (x + y + z) * ST;
        let stretched = [x + stretch, y + stretch, z + stretch];
        let base = stretched.map(f64::floor);
        let squish = (base[0] + base[1] + base[2]) * SQ;
        let cell = Cell {
            perm: &self.perm,
            base: base.map(|b| b as i32),
            delta: [x - (base[0] + squish), y - (base[1] + squish), z - (base[2] + squish)],
        };
        let inside = [stretched[0] - base[0], stretched[1] - base[1], stretched[2] - base[2]];
        let sum = inside[0] + inside[1] + inside[2];
        let value = if sum <= 1.0 {
            cell.near_corner(inside, sum)
        } else if sum >= 2.0 {
            cell.far_corner(inside, sum)
        } else {
            cell.middle(inside)
        };
        value / NORM
    }
}

/// The cell a place lies in.
struct Cell<'a> {
    perm: &'a [u8; 256],
    base: [i32; 3],
    /// The place relative to the cell's base.
    delta: [f64; 3],
}

impl Cell<'_> {
    /// Where the place lies as seen from a lattice point.
    fn offset(&self, point: Point) -> [f64; 3] {
        let squish = f64::from(point[0] + point[1] + point[2]) * SQ;
        std::array::from_fn(|axis| (self.delta[axis] - f64::from(point[axis])) - squish)
    }

    /// What a lattice point adds, seen from its ordinary offset.
    fn add(&self, sum: &mut f64, point: Point) {
        self.add_from(sum, point, self.offset(point));
    }

    fn add_from(&self, sum: &mut f64, point: Point, d: [f64; 3]) {
        let attenuation = 2.0 - d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
        if attenuation > 0.0 {
            let squared = attenuation * attenuation;
            let look = |so_far: i32, axis: usize| {
                i32::from(self.perm[((so_far + self.base[axis] + point[axis]) & 255) as usize])
            };
            let hashed = look(look(look(0, 0), 1), 2);
            let g = GRADIENTS[(hashed % 24) as usize];
            *sum += (squared * squared) * (g[0] * d[0] + g[1] * d[1] + g[2] * d[2]);
        }
    }

    /// The tetrahedron at (0,0,0).
    fn near_corner(&self, [u, v, w]: [f64; 3], t: f64) -> f64 {
        let mut sum = 0.0;
        for point in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] {
            self.add(&mut sum, point);
        }
        let (mut a, mut sa, mut b, mut sb) = (1_u8, u, 2_u8, v);
        if sa >= sb && w > sb {
            (b, sb) = (4, w);
        } else if sa < sb && w > sa {
            (a, sa) = (4, w);
        }
        let o = 1.0 - t;
        let extras: [Point; 2] = if o > sa || o > sb {
            match if sb > sa { b } else { a } {
                1 => [[1, -1, 0], [1, 0, -1]],
                2 => [[-1, 1, 0], [0, 1, -1]],
                _ => [[-1, 0, 1], [0, -1, 1]],
            }
        } else {
            [spread(a | b, 1, 0), spread(a | b, 1, -1)]
        };
        self.add(&mut sum, extras[0]);
        self.add(&mut sum, extras[1]);
        sum
    }

    /// The tetrahedron at (1,1,1).
    fn far_corner(&self, [u, v, w]: [f64; 3], t: f64) -> f64 {
        let mut sum = 0.0;
        for point in [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]] {
            self.add(&mut sum, point);
        }
        let (mut a, mut sa, mut b, mut sb) = (6_u8, u, 5_u8, v);
        if sa <= sb && w < sb {
            (b, sb) = (3, w);
        } else if sa > sb && w < sa {
            (a, sa) = (3, w);
        }
        let o = 3.0 - t;
        if o < sa || o < sb {
            // The original takes one of the two y offsets of these pairs another way round.
            let odd = |point: Point| {
                let mut d = self.offset(point);
                d[1] = ((self.delta[1] - 1.0) - 3.0 * SQ) - 1.0;
                d
            };
            match if sb < sa { b } else { a } {
                3 => {
                    self.add(&mut sum, [2, 1, 0]);
                    self.add_from(&mut sum, [1, 2, 0], odd([1, 2, 0]));
                }
                5 => {
                    self.add(&mut sum, [2, 0, 1]);
                    self.add(&mut sum, [1, 0, 2]);
                }
                _ => {
                    self.add_from(&mut sum, [0, 2, 1], odd([0, 2, 1]));
                    self.add(&mut sum, [0, 1, 2]);
                }
            }
        } else {
            self.add(&mut sum, spread(a & b, 1, 0));
            self.add(&mut sum, spread(a & b, 2, 0));
        }
        sum
    }

    /// The octahedron between the two tetrahedra.
    fn middle(&self, [u, v, w]: [f64; 3]) -> f64 {
        let mut sum = 0.0;
        for point in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]] {
            self.add(&mut sum, point);
        }
        let side = |p: f64, far: u8, near: u8| {
            if p > 1.0 {
                (p - 1.0, far, true)
            } else {
                (1.0 - p, near, false)
            }
        };
        let mut a = side(u + v, 3, 4);
        let mut b = side(u + w, 5, 2);
        let c = side(v + w, 6, 1);
        if a.0 <= b.0 && a.0 < c.0 {
            a = c;
        } else if a.0 > b.0 && b.0 < c.0 {
            b = c;
        }
        match (a.2, b.2) {
            (true, true) => {
                self.add(&mut sum, [1, 1, 1]);
                self.add(&mut sum, spread(first_axis(a.1 & b.1), 2, 0));
            }
            (false, false) => {
                self.add(&mut sum, [0, 0, 0]);
                self.add(&mut sum, spread(first_axis(!(a.1 | b.1)), -1, 1));
            }
            _ => {
                let (far, near) = if a.2 { (a.1, b.1) } else { (b.1, a.1) };
                self.add(&mut sum, spread(first_axis(!far), -1, 1));
                let axis = first_axis(near);
                let point = spread(axis, 2, 0);
                let mut d = self.offset(point);
                let index = axis.trailing_zeros() as usize;
                d[index] = (self.delta[index] - 2.0 * SQ) - 2.0;
                self.add_from(&mut sum, point, d);
            }
        }
        sum
    }
}

/// The lowest axis of a set of axes (z when neither x nor y is in it).
fn first_axis(bits: u8) -> u8 {
    match bits & 3 {
        1 | 3 => 1,
        2 => 2,
        _ => 4,
    }
}

/// `on` where the axis is in the set, `off` elsewhere.
fn spread(bits: u8, on: i32, off: i32) -> Point {
    std::array::from_fn(|axis| if bits & (1 << axis) != 0 { on } else { off })
}
